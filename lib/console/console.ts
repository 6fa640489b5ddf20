/**
 * The door of the console: takes the requests that are for it, and gives them to its API or to its pages. The API is
 * loaded when somebody asks for it, or after the start, which does not wait for it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Api } from '../api/api.ts'
import type { PublicCatalogue } from '../operations/catalogue/public-catalogue.ts'
import type { ConsoleDeps } from './api/deps.ts'
import type { ConsoleParts } from './parts.ts'
import { createSite } from './site.ts'

/** The API, and the documents that stand beside it for programs. */
const OF_API = /^\/console\/(api([/?]|$)|[\w-]+\.json(\?|$))/

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
    const [{ createApi }, catalogue] = await Promise.all([import('./api-server.ts'), this.#theCatalogue()])
    return createApi(this.#parts, catalogue)
  }

  /** One for pages and API, because it keeps what many people ask for. */
  #theCatalogue(): Promise<PublicCatalogue> {
    const { deps, world } = this.#parts
    return (this.#catalogue ??= import('../operations/catalogue/public-catalogue.ts').then(
      ({ PublicCatalogue }) => new PublicCatalogue({ ...deps, world }),
    ))
  }
}
