//! Verified pages of one database file, through the cache.
//!
//! In: where a page belongs and how to view it. Out: a checked view, read at most once while it stays in
//! the cache. A page is verified before it enters the cache, so what comes out of it needs no check.

use std::path::Path;
use std::sync::Arc;

use super::file_layer::File;
use super::page_cache::{Home, PageCache, PageKey, Weighed};
use super::page_table::PageTable;
use crate::error::{Error, Result};
use crate::format::bytes::Seal;
use crate::format::copies_page::{CopiesDirectory, CopiesPage};
use crate::format::elements_page::{ElementsDirectory, ElementsPage};
use crate::format::fence_page::FencePage;
use crate::format::leaf_page::LeafPage;
use crate::format::liveness_page::LivenessPage;
use crate::format::page::{AlignedBytes, Line, Page, PagePlace};
use crate::format::posting_directory::{PostingDirectory, ShortPage};
use crate::format::posting_lists::{ListPage, ListTable};
use crate::format::signature_page::SignaturePage;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A page in the cache.
#[derive(Debug)]
pub struct CachedPage {
    view: AnyPage,
    /// Its number in its region: pages of some tables share a place.
    number: u32,
    /// Whether it was found in a table since the cache last asked. Of bytes that were found there the table knows.
    used: AtomicBool,
}

impl CachedPage {
    /// It was found in a table.
    pub fn mark_used(&self) {
        // Most often it is marked already, and a store would take the line from other threads.
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
    /// Where keys are.
    Fence(FencePage),
    /// Hidden rows.
    Liveness(LivenessPage),
    /// Rows that share a signature.
    Copies(CopiesPage),
    /// Where those are.
    CopiesDirectory(CopiesDirectory),
    /// How many postings buckets have.
    PostingDirectory(PostingDirectory),
    /// Postings of buckets that have few.
    ShortPostings(ShortPage),
    /// Where long lists of postings are.
    PostingTable(ListTable),
    /// Long lists of postings.
    PostingList(ListPage),
    /// Encoded sets.
    Elements(ElementsPage),
    /// Where sets start.
    ElementsDirectory(ElementsDirectory),
}

impl Weighed for CachedPage {
    fn bytes(&self) -> usize {
        match &self.view {
            AnyPage::Signatures(page) => page.memory(),
            AnyPage::Leaf(page) => page.memory(),
            AnyPage::Fence(page) => page.memory(),
            AnyPage::Liveness(page) => page.memory(),
            AnyPage::Copies(page) => page.memory(),
            AnyPage::CopiesDirectory(page) => page.memory(),
            AnyPage::PostingDirectory(page) => page.memory(),
            AnyPage::ShortPostings(page) => page.memory(),
            AnyPage::PostingTable(page) => page.memory(),
            AnyPage::PostingList(page) => page.memory(),
            AnyPage::Elements(page) => page.memory(),
            AnyPage::ElementsDirectory(page) => page.memory(),
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

/// A view of a page that stays valid whatever the cache does.
pub trait View: Sized {
    /// Puts it into the cache's form, with its number.
    fn wrap(self, number: u32) -> CachedPage;
    /// Takes it out again.
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

views!(SignaturePage: Signatures, LeafPage: Leaf, FencePage: Fence, LivenessPage: Liveness,
       CopiesPage: Copies, CopiesDirectory: CopiesDirectory,
       PostingDirectory: PostingDirectory, ShortPage: ShortPostings, ListTable: PostingTable,
       ListPage: PostingList, ElementsPage: Elements, ElementsDirectory: ElementsDirectory);

/// A page kept alive by its holder.
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

/// Where the bytes of a page are to be read.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// From the start of the file.
    pub offset: u64,
    /// Most bytes that the page and what follows it in its region may have.
    pub length: u64,
}

/// What a read does to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It will be wanted again: keep it, and drop what was not used for longest.
    Recent,
    /// It is one of many that are read once: keep it only where there is room.
    IfRoom,
}

/// A file of pages, its seal and the cache before it.
#[derive(Debug, Clone)]
pub struct PageSource {
    file: Arc<dyn File>,
    path: Arc<Path>,
    seal: Seal,
    cache: Arc<PageCache<CachedPage>>,
}

impl PageSource {
    /// The pages of a file.
    pub fn new(
        file: Arc<dyn File>,
        path: Arc<Path>,
        seal: Seal,
        cache: Arc<PageCache<CachedPage>>,
    ) -> PageSource {
        PageSource { file, path, seal, cache }
    }

    /// The file itself.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Its path when it was opened.
    pub fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The seal of its pages.
    pub fn seal(&self) -> Seal {
        self.seal
    }

    /// The cache, which other sources may share.
    pub fn cache(&self) -> &Arc<PageCache<CachedPage>> {
        &self.cache
    }

    /// The page at `place`, from the cache or from the file, where it lies in `extent`.
    pub fn page<V: View>(
        &self,
        place: PagePlace,
        extent: Extent,
        keep: Keep,
        view: impl FnOnce(Page) -> Result<V>,
    ) -> Result<Pinned<V>> {
        let key = PageKey { block: place.block, region: place.kind.code(), page: place.number };
        if let Some(pinned) = self.cache.get(key).and_then(Pinned::new) {
            return Ok(pinned);
        }
        self.load(key, place, extent, keep, None, view)
    }

    /// The same for a page that has a place in a table: page `number` of it.
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
        let key = PageKey { block: place.block, region: place.kind.code(), page: place.number };
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

    /// Reads and verifies a page, past the cache.
    pub fn read(&self, place: PagePlace, extent: Extent) -> Result<Page> {
        let most = place.kind.max_bytes().min(usize::try_from(extent.length).unwrap_or(usize::MAX));
        let mut bytes = AlignedBytes::zeroed(most);
        let read = self.read_up_to(bytes.bytes_mut(), extent.offset)?;
        bytes.truncate(read);
        Page::verify(bytes, place, self.seal).map_err(|error| error.shifted(extent.offset))
    }

    /// Reads bytes until `buffer` is full or the file ends.
    pub fn read_up_to(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let result = self.file.read_up_to(buffer, offset);
        result.map_err(|error| Error::io("read", &self.path, error))
    }
}
