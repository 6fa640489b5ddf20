/**
 * Embeddings on Vertex AI. Open models, whose names have their publisher in them, are asked as OpenAI's are. Google's own are asked by
 * `:predict`, with all texts of a request, or by `:embedContent`, with one: the second generation, which knows no other method. Both
 * answer in a form of their own, which is read while it comes and told as OpenAI's when it is whole.
 */
import type { Fields } from './json/text.ts'
import { JsonScanner, type JsonKind, type ScanEvents } from './json/scanner.ts'
import type { AtKind, OtherForm } from './protocol.ts'

interface Wanted {
  texts: readonly string[]
  dimensions: number | null
  taskType: string | null
  asBase64: boolean
}

/** `user` says nothing to these upstreams, and changes no vector. */
const KNOWN: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format', 'task_type', 'user'])
const NAME = /^\w{1,64}$/

/** Returns the name of the member that cannot be said where there is one. */
function wantedOf(body: Fields): Wanted | string {
  const { input, dimensions = null, encoding_format: format = 'float', task_type: taskType = null } = body
  const strange = Object.keys(body).find(name => !KNOWN.has(name) && body[name] !== null)
  if (strange !== undefined) return NAME.test(strange) ? strange : 'body'
  const texts = Array.isArray(input) ? (input as unknown[]) : [input]
  if (texts.length === 0 || !texts.every(text => typeof text === 'string')) return 'input'
  if (!(dimensions === null || (Number.isSafeInteger(dimensions) && Number(dimensions) > 0))) return 'dimensions'
  if (![null, 'float', 'base64'].includes(format as string)) return 'encoding_format'
  if (!(taskType === null || typeof taskType === 'string')) return 'task_type'
  return { texts, dimensions: dimensions as number | null, taskType, asBase64: format === 'base64' }
}

/** Where the answers to a method have what is told of them: the steps from the top, in which an element of a list is nameless. */
interface Places {
  inside: ReadonlySet<string>
  values: string
  tokens: string
}

const OF_PREDICT: Places = {
  inside: new Set(['/predictions', '/predictions/', '/predictions//embeddings', '/predictions//embeddings/statistics']),
  values: '/predictions//embeddings/values',
  tokens: '/predictions//embeddings/statistics/token_count',
}

const OF_EMBED_CONTENT: Places = {
  inside: new Set(['/embedding', '/usageMetadata']),
  values: '/embedding/values',
  tokens: '/usageMetadata/promptTokenCount',
}

/** Each vector is read when its end has come, so that no answer is parsed as a whole. */
class VectorReader implements ScanEvents {
  readonly #places: Places
  readonly #wanted: Wanted
  readonly #model: string
  readonly #scanner = new JsonScanner(this)
  /** What came behind the last vector, and its offset. */
  #kept: Buffer[] = []
  #base = 0
  readonly #around: string[] = ['']
  readonly #vectors: string[] = []
  #tokens = 0
  #counts = 0
  #isReadable = true

  constructor(places: Places, wanted: Wanted, model: string) {
    this.#places = places
    this.#wanted = wanted
    this.#model = model
  }

  feed(chunk: Buffer): void {
    this.#kept.push(chunk)
    this.#scanner.feed(chunk)
  }

  wants(): number {
    return 0
  }

  enter(key: string): boolean {
    const place = this.#at(key)
    const isEntered = this.#places.inside.has(place)
    if (isEntered) this.#around.push(place)
    return isEntered
  }

  leave(): void {
    this.#around.pop()
  }

  member(key: string, _kind: JsonKind, start: number, end: number, text: string | null): void {
    const place = this.#at(key)
    if (place === this.#places.values) this.#take(start, end)
    else if (place === this.#places.tokens) this.#count(Number(text ?? Number.NaN))
  }

  #at(key: string): string {
    return `${this.#around.at(-1)}/${key}`
  }

  #take(start: number, end: number): void {
    const kept = this.#kept.length === 1 ? (this.#kept[0] as Buffer) : Buffer.concat(this.#kept)
    const vector = vectorOf(kept.toString('latin1', start - this.#base, end - this.#base), this.#wanted.asBase64)
    this.#kept = [kept.subarray(end - this.#base)]
    this.#base = end
    if (vector === null || this.#vectors.length === this.#wanted.texts.length) this.#isReadable = false
    else this.#vectors.push(vector)
  }

  #count(tokens: number): void {
    if (!Number.isSafeInteger(tokens) || tokens < 0) return
    this.#tokens += tokens
    this.#counts++
  }

  end(): string | null {
    const isWhole = this.#isReadable && this.#scanner.complete && this.#vectors.length === this.#wanted.texts.length
    if (!isWhole) return null
    const data = this.#vectors.map((vector, i) => `{"object":"embedding","index":${i},"embedding":${vector}}`)
    // tokens of which some are missing are estimated, as are those of an upstream that reports none
    const isCounted = this.#counts === this.#vectors.length && Number.isSafeInteger(this.#tokens)
    const usage = isCounted ? `,"usage":{"prompt_tokens":${this.#tokens},"total_tokens":${this.#tokens}}` : ''
    return `{"object":"list","data":[${data.join()}],"model":${JSON.stringify(this.#model)}${usage}}`
  }
}

/** The JSON of a vector in the form that is wanted; null = it is none. */
function vectorOf(text: string, asBase64: boolean): string | null {
  try {
    const values = JSON.parse(text) as unknown
    if (!Array.isArray(values) || values.length === 0 || !values.every(Number.isFinite)) return null
    return asBase64 ? `"${Buffer.from(Float32Array.from(values).buffer).toString('base64')}"` : JSON.stringify(values)
  } catch {
    return null
  }
}

const PATH = '/publishers/google/models/{model}:'

const PREDICT: OtherForm = {
  path: `${PATH}predict`,
  write(body, model) {
    const wanted = wantedOf(body)
    if (typeof wanted === 'string') return wanted
    const { texts, dimensions, taskType } = wanted
    const task = taskType === null ? {} : { task_type: taskType }
    return {
      body: {
        instances: texts.map(content => ({ content, ...task })),
        ...(dimensions === null ? {} : { parameters: { outputDimensionality: dimensions } }),
      },
      reader: () => new VectorReader(OF_PREDICT, wanted, model),
    }
  },
}

const EMBED_CONTENT: OtherForm = {
  path: `${PATH}embedContent`,
  write(body, model) {
    const wanted = wantedOf(body)
    if (typeof wanted === 'string') return wanted
    const { texts, dimensions, taskType } = wanted
    if (texts.length > 1) return 'input'
    const config = {
      ...(taskType === null ? {} : { taskType }),
      ...(dimensions === null ? {} : { outputDimensionality: dimensions }),
    }
    return {
      body: {
        content: { parts: texts.map(text => ({ text })) },
        ...(Object.keys(config).length === 0 ? {} : { embedContentConfig: config }),
      },
      reader: () => new VectorReader(OF_EMBED_CONTENT, wanted, model),
    }
  },
}

const SECOND_GENERATION = /^gemini-embedding-[2-9]/

export const EMBEDDINGS_ON_VERTEX: AtKind = {
  path: '/endpoints/openapi/embeddings',
  otherForm(model) {
    if (model.includes('/')) return null
    return SECOND_GENERATION.test(model) ? EMBED_CONTENT : PREDICT
  },
}
