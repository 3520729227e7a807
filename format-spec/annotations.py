"""Compares the byte-by-byte tables of reading.md with the golden file that they describe. Used by reader.py."""
import re

ROW = re.compile(r"\| ([0-9a-f]{4}) \| ([^|]+) \|")


def differences(page, data):
    """What is wrong with the tables in the text of the page: they describe every byte of `data`, in order."""
    at = 0
    for offset, text in ROW.findall(page):
        zeros = re.fullmatch(r"(\d+) \* 00", text)
        again = re.fullmatch(r"(\d+) bytes as at ([0-9a-f]{4})", text)
        if zeros:
            expected = bytes(int(zeros.group(1)))
        elif again:
            start = int(again.group(2), 16)
            expected = data[start:start + int(again.group(1))]
        else:
            expected = bytes.fromhex(text)
        if int(offset, 16) != at or data[at:at + len(expected)] != expected:
            return f"the row at {offset} does not match the file"
        at += len(expected)
    return None if at == len(data) else f"the tables end at {at:04x}"
