/**
 * What the server writes into a page: what it cannot know otherwise before its first request. The server's shell.ts makes
 * it, the page reads it back from its document.
 */
import type { Language, Words } from '../../lib/base/people.ts'
import type { ShownAnnouncement } from '../../lib/config/config.ts'
import type { PageName } from './sitemap.ts'

export interface Given {
  page: PageName
  language: Language
  /** `system`: as the reader's system has it. */
  theme: Theme
  /** Whether the browser sent the cookie of a session. Whether that session is in force, only the API says. */
  signedIn: boolean
  site: ShownSite
  /** The reader has put announcements away; which, the page finds out itself. */
  quiet: boolean
  /** What the page needs from the server before it can begin; null = nothing. */
  data: unknown
  /** Whether the document has the page's content already, so that it can be read without a script. */
  drawn: boolean
}

/** The section `site` of the config as pages show it; null = it says nothing of it. */
export interface ShownSite {
  /** In which the books' days and months begin. */
  zone: string
  name: Words
  about: Words | null
  /** Address of the picture. */
  logo: string | null
  contact: Words | null
  terms: string | null
  privacy: string | null
  icp: string | null
  links: { text: Words; url: string }[]
  languages: Language[]
  /** Whether anybody may register. */
  register: boolean
  /** The announcements that are for everybody. */
  announcements: ShownAnnouncement[]
}

export type Theme = 'system' | 'light' | 'dark'

/** Where a document finds what belongs to it. */
export interface Linked {
  style: string
  unscripted: string
  /** The operator's colours. */
  colors: string | null
  icon: string
  script: string
  /** Modules that the page will need, in the order of need. */
  preload: string[]
}

/** Makes the HTML of a page. */
export type RenderDocument = (given: Omit<Given, 'drawn'>, linked: Linked) => string
