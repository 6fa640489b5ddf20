/**
 * What the server writes into a page: what it cannot know otherwise before its first request. The server's shell.ts makes
 * it, the page reads it back from its document.
 */
import type { Language } from '../../lib/base/people.ts'
import type { PageName } from './sitemap.ts'

export interface Given {
  page: PageName
  language: Language
  /** `system`: as the reader's system has it. */
  theme: Theme
  /** Whether the browser sent the cookie of a session. Whether that session is in force, only the API says. */
  signedIn: boolean
  /** What the page needs from the server before it can begin; null = nothing. */
  data: unknown
  /** Whether the document has the page's content already, so that it can be read without a script. */
  drawn: boolean
}

export type Theme = 'system' | 'light' | 'dark'

/** Where a document finds what belongs to it. */
export interface Linked {
  style: string
  unscripted: string
  icon: string
  script: string
  /** Modules that the page will need, in the order of need. */
  preload: string[]
  importMap: string
}

/** Makes the HTML of a page. */
export type RenderDocument = (given: Omit<Given, 'drawn'>, linked: Linked) => string
