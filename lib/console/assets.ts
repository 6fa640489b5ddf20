/**
 * Serves the files of pages under `/console/a/HASH/`. The types of a file are stripped, and the file is compressed, when
 * it is asked for the first time: one file in a turn, so that requests of the API hardly wait, and nothing at start.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { ClientFile, ClientFiles, Kind } from './client-files.ts'
import { assetHeaders } from './headers.ts'

const TYPES: Record<Kind, string> = {
  typescript: 'text/javascript; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
  style: 'text/css; charset=utf-8',
  picture: 'image/svg+xml',
}
/** Of brotli's levels, the last but one for which a file of this size takes only milliseconds. */
const BROTLI_LEVEL = 9

type Encoding = 'br' | 'gzip' | 'identity'
type Bodies = Record<Encoding, Buffer>

const brotliOf = promisify(brotliCompress)
const gzipOf = promisify(gzip)

/** What a browser gets of a file. */
export const served = ({ kind, text }: ClientFile): string =>
  kind === 'typescript' ? stripTypeScriptTypes(text, { mode: 'strip' }) : text

async function bodiesOf(file: ClientFile): Promise<Bodies> {
  const identity = Buffer.from(served(file), 'utf8')
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
  }
  const [br, gz] = await Promise.all([brotliOf(identity, { params }), gzipOf(identity, { level: 9 })])
  return { identity, br, gzip: gz }
}

export class Assets {
  readonly #client: ClientFiles
  readonly #ready = new Map<string, Promise<Bodies>>()

  constructor(client: ClientFiles) {
    this.#client = client
  }

  /** `name`: what follows `/console/a/`. Answers and returns true; false = there is no such file. */
  async answer(name: string, req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const { hash, files } = this.#client
    const file = name.startsWith(`${hash}/`) ? files.get(name.slice(hash.length + 1)) : undefined
    if (file === undefined) return false
    const tag = `"${hash}"`
    const headers: OutgoingHttpHeaders = { ...assetHeaders(TYPES[file.kind]), etag: tag }
    if (req.headers['if-none-match'] === tag) {
      res.writeHead(304, headers).end()
      return true
    }
    const bodies = await this.#bodies(name, file)
    const encoding = encodingFor(req.headers['accept-encoding'])
    const body = bodies[encoding]
    if (encoding !== 'identity') headers['content-encoding'] = encoding
    res.writeHead(200, { ...headers, 'content-length': body.length })
    res.end(req.method === 'HEAD' ? undefined : body)
    return true
  }

  #bodies(name: string, file: ClientFile): Promise<Bodies> {
    let ready = this.#ready.get(name)
    if (ready === undefined) this.#ready.set(name, (ready = bodiesOf(file)))
    return ready
  }
}

/** `q=0` is a refusal. */
function encodingFor(header: string | string[] | undefined): Encoding {
  const accepted = new Set(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map(part => part.split(';').map(piece => piece.trim()))
      .filter(([, q]) => q === undefined || !/^q=0(\.0*)?$/.test(q))
      .map(([encoding]) => encoding),
  )
  return accepted.has('br') ? 'br' : accepted.has('gzip') ? 'gzip' : 'identity'
}
