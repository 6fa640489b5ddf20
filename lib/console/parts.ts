/** What the console is given by the process in which it runs. */
import type { IncomingMessage } from 'node:http'
import type { CatalogueParts } from '../operations/catalogue/public-catalogue.ts'
import type { ConsoleDeps } from './api/deps.ts'

export interface ConsoleParts {
  /** The others are made when the API is loaded. */
  deps: Omit<ConsoleDeps, 'passwords' | 'mail' | 'catalogue'>
  /** What the catalogue is compiled to. */
  world: CatalogueParts['world']
  /** Makes request ids. */
  ids: () => string
  /** The client's address, behind the proxies that are trusted. */
  ipOf: (req: IncomingMessage) => string
  /** Counts an answer of the API. */
  count: (operation: string, status: number) => void
}
