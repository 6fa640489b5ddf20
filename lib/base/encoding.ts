/** Compression of answers, as who asks takes it. What may be compressed is for the caller to know: docs/console.md says what may not. */
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import type { BrotliOptions, InputType, ZlibOptions } from 'node:zlib'

export type Encoding = 'br' | 'gzip' | 'identity'

export interface Encoded {
  encoding: Encoding
  body: Buffer
}

/**
 * `once`: for one reader, who waits for it. `while`: for many, until it changes, which may be soon, and in many forms. `kept`: for many,
 * once. The last level costs more than twice the time of the one before, for a fiftieth of the bytes.
 */
const LEVELS = { once: { br: 4, gzip: 6 }, while: { br: 6, gzip: 6 }, kept: { br: 10, gzip: 9 } } as const
type Effort = keyof typeof LEVELS

/** Below it, an answer fits one packet as it is. */
const LEAST_BYTES = 1_024

/** `q=0` is a refusal. */
export function encodingFor(header: string | string[] | undefined): Encoding {
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

type Compress<O> = (input: InputType, options: O) => Promise<Buffer>
interface Compressors {
  br: Compress<BrotliOptions>
  gzip: Compress<ZlibOptions>
  quality: number
}
let loaded: Promise<Compressors> | null = null

/** Loaded at the first use, as a gateway without visitors needs none of it. */
const compressors = (): Promise<Compressors> =>
  (loaded ??= import('node:zlib').then(({ brotliCompress, gzip, constants }) => ({
    br: promisify(brotliCompress) as Compress<BrotliOptions>,
    gzip: promisify(gzip) as Compress<ZlibOptions>,
    quality: constants.BROTLI_PARAM_QUALITY,
  })))

/** The body in this encoding; as it is where it is short. */
export async function encoded(body: Buffer, encoding: Encoding, effort: Effort): Promise<Encoded> {
  if (encoding === 'identity' || body.length < LEAST_BYTES) return { encoding: 'identity', body }
  const { br, gzip, quality } = await compressors()
  const level = LEVELS[effort][encoding]
  const made = encoding === 'br' ? br(body, { params: { [quality]: level } }) : gzip(body, { level })
  return { encoding, body: await made }
}

/** 132 bits. */
const TAG_LENGTH = 22

/** A body for many readers: each encoding is made when somebody first asks for it. */
export class KeptBody {
  /** For the header `etag`. */
  readonly tag: string
  readonly #body: Buffer
  readonly #effort: Effort
  readonly #made = new Map<Encoding, Promise<Encoded>>()

  constructor(text: string | Buffer, effort: Effort) {
    this.#effort = effort
    this.#body = typeof text === 'string' ? Buffer.from(text, 'utf8') : text
    this.tag = `"${hash('sha256', this.#body, 'base64url').slice(0, TAG_LENGTH)}"`
  }

  get bytes(): number {
    return this.#body.length
  }

  /** Whether who asks has it still. `known`: the header `if-none-match`. */
  isIn(known: string | undefined): boolean {
    const tags = (known ?? '').split(',').map(one => one.trim().replace(/^W\//, ''))
    return tags.includes(this.tag) || tags.includes('*')
  }

  /** `accepted`: the header `accept-encoding`. */
  in(accepted: string | string[] | undefined): Promise<Encoded> {
    const encoding = encodingFor(accepted)
    const made = this.#made.get(encoding) ?? encoded(this.#body, encoding, this.#effort)
    this.#made.set(encoding, made)
    return made
  }
}

export const encodedHeaders = ({ encoding, body }: Encoded): Record<string, string | number> => ({
  ...(encoding !== 'identity' && { 'content-encoding': encoding }),
  'content-length': body.length,
})
