/** What a row of the table of clients says. */
import type { Words } from '../../base/people.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Syntax } from '../../../web/shared/fill.ts'

export interface ClientSnippet {
  /** A shell, a language, or the file's path. */
  title: string
  syntax: Syntax
  text: string
}

/** An address that hands the settings to an application on the reader's machine. It holds the key. */
export interface ImportLink {
  /** The application that it opens. */
  app: string
  link: string
  /** The values are JSON in base64 within the link, in the place of `{data}`. */
  data?: Record<string, string>
}

export interface ClientRow {
  id: string
  name: Words
  /** In the order in which the client's files below need them. */
  protocols: readonly Protocol[]
  /** The address that people enter, of `{base}`. */
  address: string
  snippets: readonly ClientSnippet[]
  /** Only for the dialogs that show a new key. */
  links: readonly ImportLink[]
  notes: readonly Words[]
}
