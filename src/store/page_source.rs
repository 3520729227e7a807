//! Reads verified pages of one database file through the cache.
//!
//! In: the place of a page, and the function that views it. Out: a checked view. A page is verified before it
//! enters the cache, so cached pages need no further check.

use std::path::Path;
use std::sync::Arc;

use super::file_layer::File;
use super::page_cache::{Home, PageCache, PageKey, Weighed};
use super::page_table::PageTable;
use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::format::duplicates_page::{DuplicatesDirectory, DuplicatesPage};
use crate::format::fence_page::FencePage;
use crate::format::leaf_page::LeafPage;
use crate::format::page::{AlignedBytes, Line, Page, PagePlace};
use crate::format::posting_directory::{PostingDirectory, ShortPage};
use crate::format::posting_lists::{ListPage, ListTable};
use crate::format::record_pages::{RecordDirectory, RecordPage};
use crate::format::signature_page::SignaturePage;
use crate::format::tombstone_page::TombstonePage;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A page in the cache.
#[derive(Debug)]
pub struct CachedPage {
    view: AnyPage,
    /// Its number in its region. Pages of some tables share a position, so lookups compare it.
    number: u32,
    /// Whether it was found through a table since the cache last asked. For pages read as raw bytes, the table
    /// keeps the bit.
    used: AtomicBool,
}

impl CachedPage {
    /// Marks the page as found through a table.
    pub fn mark_used(&self) {
        // The bit is usually set already, and a store would invalidate the cache line of other threads.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

/// A page of any kind.
#[derive(Debug)]
enum AnyPage {
    /// Distinct signatures.
    Signatures(SignaturePage),
    /// Keys.
    Leaf(LeafPage),
    /// First keys of the pages below.
    Fence(FencePage),
    /// Tombstones.
    Tombstones(TombstonePage),
    /// Duplicate rows.
    Duplicates(DuplicatesPage),
    /// The directory of duplicate rows.
    DuplicatesDirectory(DuplicatesDirectory),
    /// The number of postings of each bucket.
    PostingDirectory(PostingDirectory),
    /// The postings of short buckets.
    ShortPostings(ShortPage),
    /// The positions of long posting lists.
    PostingTable(ListTable),
    /// Long posting lists.
    PostingList(ListPage),
    /// Kept sets or values.
    Records(RecordPage),
    /// The starts of kept sets or values.
    RecordDirectory(RecordDirectory),
}

impl Weighed for CachedPage {
    fn bytes(&self) -> usize {
        match &self.view {
            AnyPage::Signatures(page) => page.memory(),
            AnyPage::Leaf(page) => page.memory(),
            AnyPage::Fence(page) => page.memory(),
            AnyPage::Tombstones(page) => page.memory(),
            AnyPage::Duplicates(page) => page.memory(),
            AnyPage::DuplicatesDirectory(page) => page.memory(),
            AnyPage::PostingDirectory(page) => page.memory(),
            AnyPage::ShortPostings(page) => page.memory(),
            AnyPage::PostingTable(page) => page.memory(),
            AnyPage::PostingList(page) => page.memory(),
            AnyPage::Records(page) => page.memory(),
            AnyPage::RecordDirectory(page) => page.memory(),
        }
    }

    fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    fn lines(&self) -> Option<&Arc<[Line]>> {
        match &self.view {
            AnyPage::PostingDirectory(page) => Some(page.page().lines()),
            AnyPage::ShortPostings(page) => Some(page.page().lines()),
            _ => None,
        }
    }
}

/// A typed view of a page. It stays valid when the cache evicts the page.
pub trait View: Sized {
    /// Wraps the view for the cache, with its page number.
    fn wrap(self, number: u32) -> CachedPage;
    /// Returns the view in a cached page, if it has this type.
    fn of(page: &CachedPage) -> Option<&Self>;
}

macro_rules! views {
    ($($view:ident: $variant:ident),*) => {$(
        impl View for $view {
            fn wrap(self, number: u32) -> CachedPage {
                let view = AnyPage::$variant(self);
                CachedPage { view, number, used: AtomicBool::new(false) }
            }

            fn of(page: &CachedPage) -> Option<&$view> {
                match &page.view {
                    AnyPage::$variant(view) => Some(view),
                    _ => None,
                }
            }
        }
    )*};
}

views!(SignaturePage: Signatures, LeafPage: Leaf, FencePage: Fence, TombstonePage: Tombstones,
       DuplicatesPage: Duplicates, DuplicatesDirectory: DuplicatesDirectory,
       PostingDirectory: PostingDirectory, ShortPage: ShortPostings, ListTable: PostingTable,
       ListPage: PostingList, RecordPage: Records, RecordDirectory: RecordDirectory);

/// A page that stays in memory while this value exists.
#[derive(Debug)]
pub struct Pinned<V> {
    page: Arc<CachedPage>,
    view: std::marker::PhantomData<V>,
}

impl<V: View> Pinned<V> {
    pub(super) fn new(page: Arc<CachedPage>) -> Option<Pinned<V>> {
        V::of(&page)?;
        Some(Pinned { page, view: std::marker::PhantomData })
    }
}

impl<V> Clone for Pinned<V> {
    fn clone(&self) -> Pinned<V> {
        Pinned { page: Arc::clone(&self.page), view: std::marker::PhantomData }
    }
}

impl<V: View> std::ops::Deref for Pinned<V> {
    type Target = V;

    fn deref(&self) -> &V {
        V::of(&self.page).expect("checked when it was pinned")
    }
}

/// Where the bytes of a page are.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The offset in the file.
    pub offset: u64,
    /// The most bytes to read, within the page's region. The page may be shorter.
    pub length: u64,
}

/// How a read affects the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The page will be needed again: cache it, and evict the least recently used.
    Recent,
    /// The page is one of many that are read once: cache it only if that evicts nothing.
    IfRoom,
}

/// A file of pages, with its seal and the cache in front of it.
#[derive(Debug, Clone)]
pub struct PageSource {
    file: Arc<dyn File>,
    path: Arc<Path>,
    seal: Seal,
    cache: Arc<PageCache<CachedPage>>,
}

impl PageSource {
    /// Creates a source for the pages of a file.
    pub fn new(
        file: Arc<dyn File>,
        path: Arc<Path>,
        seal: Seal,
        cache: Arc<PageCache<CachedPage>>,
    ) -> PageSource {
        PageSource { file, path, seal, cache }
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Returns the path that the file was opened under.
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Returns the seal of the file's pages.
    pub fn seal(&self) -> Seal {
        self.seal
    }

    /// Returns the cache, which other sources may share.
    pub fn cache(&self) -> &Arc<PageCache<CachedPage>> {
        &self.cache
    }

    /// Returns the page at `place`, from the cache or from `extent` in the file.
    pub fn page<V: View>(
        &self,
        place: PagePlace,
        extent: Extent,
        keep: Keep,
        view: impl FnOnce(Page) -> Result<V>,
    ) -> Result<Pinned<V>> {
        let key = PageKey { extent: place.extent, region: place.kind.code(), page: place.number };
        if let Some(pinned) = self.cache.get(key).and_then(Pinned::new) {
            return Ok(pinned);
        }
        self.load(key, place, extent, keep, None, view)
    }

    /// Like [`page`](PageSource::page), for a page that has position `number` in a table.
    pub fn page_in<V: View>(
        &self,
        (table, number): (&Arc<PageTable<CachedPage>>, u32),
        place: PagePlace,
        extent: Extent,
        keep: Keep,
        view: impl FnOnce(Page) -> Result<V>,
    ) -> Result<Pinned<V>> {
        if let Some(page) = table.get(number).filter(|page| page.number == place.number) {
            page.mark_used();
            if let Some(pinned) = Pinned::new(page) {
                self.cache.add_hits(1);
                return Ok(pinned);
            }
        }
        let key = PageKey { extent: place.extent, region: place.kind.code(), page: place.number };
        if let Some(pinned) = self.cache.get(key).and_then(Pinned::new) {
            return Ok(pinned);
        }
        let home = Home { table: Arc::clone(table), page: number };
        self.load(key, place, extent, keep, Some(home), view)
    }

    fn load<V: View>(
        &self,
        key: PageKey,
        place: PagePlace,
        extent: Extent,
        keep: Keep,
        home: Option<Home<CachedPage>>,
        view: impl FnOnce(Page) -> Result<V>,
    ) -> Result<Pinned<V>> {
        let page = self.read(place, extent)?;
        let page =
            Arc::new(view(page).map_err(|error| error.shifted(extent.offset))?.wrap(place.number));
        match keep {
            Keep::Recent => self.cache.insert(key, Arc::clone(&page), home),
            Keep::IfRoom => {
                self.cache.insert_if_room(key, Arc::clone(&page), home);
            }
        }
        Ok(Pinned::new(page).expect("just wrapped"))
    }

    /// Reads and verifies a page without the cache.
    pub fn read(&self, place: PagePlace, extent: Extent) -> Result<Page> {
        let most = place.kind.max_bytes().min(usize::try_from(extent.length).unwrap_or(usize::MAX));
        let mut bytes = AlignedBytes::zeroed(most);
        let read = self.read_up_to(bytes.bytes_mut(), extent.offset)?;
        bytes.truncate(read);
        Page::verify(bytes, place, self.seal).map_err(|error| error.shifted(extent.offset))
    }

    /// Reads until `buffer` is full or the file ends, and returns the number of bytes.
    pub fn read_up_to(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let result = self.file.read_up_to(buffer, offset);
        result.map_err(|error| Error::io("read", &self.path, error))
    }
}
