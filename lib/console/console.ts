/**
 * The door of the console: takes the requests that are for it, and gives them to its API or to its pages. The API is
 * loaded when somebody asks for it, or after the start, which does not wait for it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Api } from '../api/api.ts'
import type { CatalogueParts, PublicCatalogue } from '../operations/catalogue/public-catalogue.ts'
import type { ConsoleDeps } from './api/shared.ts'
import { createSite } from './site.ts'

const ROOT = '/console'

/** The API, and the documents that stand beside it for programs. */
const OF_API = /^\/console\/(api([/?]|$)|[\w-]+\.json(\?|$))/

interface ConsoleParts {
  /** The others are made when the API is loaded. */
  deps: Omit<ConsoleDeps, 'passwords' | 'mail' | 'catalogue'>
  world: CatalogueParts['world']
  /** Makes request ids. */
  ids: () => string
  /** The client's address, behind the proxies that are trusted. */
  ipOf: (req: IncomingMessage) => string
  /** Counts an answer of the API. */
  count: (operation: string, status: number) => void
}

export class Console {
  readonly #parts: ConsoleParts
  readonly #pages: (req: IncomingMessage, res: ServerResponse) => boolean
  #api: Promise<Api<ConsoleDeps>> | null = null
  #catalogue: Promise<PublicCatalogue> | null = null

  constructor(parts: ConsoleParts) {
    this.#parts = parts
    const { config, log, clock } = parts.deps
    this.#pages = createSite({ config, log, clock, ipOf: parts.ipOf, catalogue: () => this.#theCatalogue() })
  }

  /** Answers requests for the console and returns true; false = the request is for the relayed API. */
  serve(req: IncomingMessage, res: ServerResponse): boolean {
    if (!OF_API.test(req.url as string)) return this.#pages(req, res)
    this.load()
      .then(api => api.serve(req, res))
      .catch(error => {
        this.#parts.deps.log.error({ err: error }, 'the console failed')
        res.destroy()
      })
    return true
  }

  load(): Promise<Api<ConsoleDeps>> {
    return (this.#api ??= this.#createApi())
  }

  async #createApi(): Promise<Api<ConsoleDeps>> {
    const [{ Api }, { OPERATIONS }, { StoredIdentities }, { peopleQueues }, catalogue] = await Promise.all([
      import('../api/api.ts'),
      import('./api/rows.ts'),
      import('./sign-in/identities.ts'),
      import('../operations/people/deps.ts'),
      this.#theCatalogue(),
    ])
    const { deps: given, ids, ipOf, count } = this.#parts
    const { store, clock, log, config } = given
    const deps = { ...given, ...peopleQueues(given), catalogue }
    const identities = new StoredIdentities(store, clock)
    const site = () => ({ ...config().public, languages: config().site.languages })
    return new Api({ root: ROOT, operations: OPERATIONS, deps, identities, clock, log, ids, site, ipOf, count })
  }

  /** One for pages and API, because it keeps what many people ask for. */
  #theCatalogue(): Promise<PublicCatalogue> {
    const { deps, world } = this.#parts
    return (this.#catalogue ??= import('../operations/catalogue/public-catalogue.ts').then(
      ({ PublicCatalogue }) => new PublicCatalogue({ ...deps, world }),
    ))
  }
}
