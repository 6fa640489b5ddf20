/**
 * Embeddings on Vertex AI. Open models, whose names have their publisher in them, are asked as OpenAI's are. Google's own are asked by
 * `:predict`, with all texts of a request, or by `:embedContent`, with one: the second generation, which knows no other method. Both
 * answer in a form of their own, which is read while it comes and told in the client's when it is whole: OpenAI's, or the native one of
 * generate-content.
 */
import { type Fields, fieldsOf } from './json/text.ts'
import { JsonScanner, type JsonKind, type ScanEvents } from './json/scanner.ts'
import type { AtKind, OtherForm } from './protocol.ts'

interface Input {
  /** The texts that have one vector together. */
  parts: readonly string[]
  taskType: string | null
  title: string | null
}

interface Wanted {
  inputs: readonly Input[]
  dimensions: number | null
  asBase64: boolean
  /** The answer in the client's form. `vectors`: a JSON text each; `tokens`: null = they were not all told. */
  tell(vectors: readonly string[], tokens: number | null, model: string): string
}

const NAME = /^\w{1,64}$/

/** The first member that has a value and is not known; undefined = there is none. */
function strangeIn(fields: Fields, ...known: string[]): string | undefined {
  const strange = Object.keys(fields).find(name => !known.includes(name) && fields[name] !== null)
  return strange === undefined || NAME.test(strange) ? strange : 'body'
}

const isText = (value: unknown): value is string | null => value === null || typeof value === 'string'
const isDimensions = (value: unknown): value is number | null =>
  value === null || (Number.isSafeInteger(value) && Number(value) > 0)

/** Returns the name of the member that cannot be said where there is one. `user` says nothing to these upstreams, and changes no vector. */
function wantedOf(body: Fields): Wanted | string {
  const { input, dimensions = null, encoding_format: format = 'float', task_type: taskType = null } = body
  const strange = strangeIn(body, 'model', 'input', 'dimensions', 'encoding_format', 'task_type', 'user')
  if (strange !== undefined) return strange
  const texts = Array.isArray(input) ? (input as unknown[]) : [input]
  if (texts.length === 0 || !texts.every(text => typeof text === 'string')) return 'input'
  if (!isDimensions(dimensions)) return 'dimensions'
  if (![null, 'float', 'base64'].includes(format as string)) return 'encoding_format'
  if (!isText(taskType)) return 'task_type'
  const inputs = texts.map(text => ({ parts: [text], taskType, title: null }))
  return { inputs, dimensions, asBase64: format === 'base64', tell: tellAsOpenai }
}

function tellAsOpenai(vectors: readonly string[], tokens: number | null, model: string): string {
  const data = vectors.map((vector, i) => `{"object":"embedding","index":${i},"embedding":${vector}}`)
  const usage = tokens === null ? '' : `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`
  return `{"object":"list","data":[${data.join()}],"model":${JSON.stringify(model)}${usage}}`
}

/** The same of the native form: one request, or several in `requests`. */
function nativelyWanted(body: Fields): Wanted | string {
  const isBatch = body['requests'] !== undefined
  if (isBatch && strangeIn(body, 'model', 'requests') !== undefined)
    return strangeIn(body, 'model', 'requests') as string
  const requests = isBatch ? body['requests'] : [body]
  if (!Array.isArray(requests) || requests.length === 0) return 'requests'
  const inputs: Input[] = []
  const dimensions = new Set<number | null>()
  for (const one of requests) {
    const input = inputOf(fieldsOf(one), dimensions)
    if (typeof input === 'string') return input
    inputs.push(input)
  }
  const [first = null, second] = dimensions
  if (second !== undefined) return DIMENSIONS
  return {
    inputs,
    dimensions: first,
    asBase64: false,
    tell: (vectors, tokens) => tellNatively(isBatch, vectors, tokens),
  }
}

const DIMENSIONS = 'outputDimensionality'

function inputOf(request: Fields, all: Set<number | null>): Input | string {
  const spelled = (name: string, other: string): unknown => request[name] ?? request[other] ?? null
  const strange = strangeIn(
    request,
    'model',
    'content',
    'taskType',
    'task_type',
    'title',
    DIMENSIONS,
    'output_dimensionality',
  )
  const [taskType, title, dimensions] = [
    spelled('taskType', 'task_type'),
    spelled('title', 'title'),
    spelled(DIMENSIONS, 'output_dimensionality'),
  ]
  if (strange !== undefined) return strange
  if (!isText(taskType)) return 'taskType'
  if (!isText(title)) return 'title'
  if (!isDimensions(dimensions)) return DIMENSIONS
  all.add(dimensions)
  const { parts } = fieldsOf(request['content'])
  if (!Array.isArray(parts) || parts.length === 0) return 'content'
  const found = parts.map(fieldsOf)
  const other = found.map(part => strangeIn(part, 'text')).find(name => name !== undefined)
  if (other !== undefined) return other
  const texts = found.map(({ text }) => text)
  return texts.every(text => typeof text === 'string') ? { parts: texts, taskType, title } : 'content'
}

function tellNatively(isBatch: boolean, vectors: readonly string[], tokens: number | null): string {
  const embeddings = vectors.map(values => `{"values":${values}}`)
  const usage = tokens === null ? '' : `,"usageMetadata":{"promptTokenCount":${tokens}}`
  return isBatch ? `{"embeddings":[${embeddings.join()}]${usage}}` : `{"embedding":${embeddings[0]}${usage}}`
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
    if (vector === null || this.#vectors.length === this.#wanted.inputs.length) this.#isReadable = false
    else this.#vectors.push(vector)
  }

  #count(tokens: number): void {
    if (!Number.isSafeInteger(tokens) || tokens < 0) return
    this.#tokens += tokens
    this.#counts++
  }

  end(): string | null {
    const isWhole = this.#isReadable && this.#scanner.complete && this.#vectors.length === this.#wanted.inputs.length
    if (!isWhole) return null
    // tokens of which some are missing are estimated, as are those of an upstream that reports none
    const isCounted = this.#counts === this.#vectors.length && Number.isSafeInteger(this.#tokens)
    return this.#wanted.tell(this.#vectors, isCounted ? this.#tokens : null, this.#model)
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

/** Members without those that have no value. */
const filled = (members: Fields): Fields =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))

const wantedIn = (body: Fields, form: string): Wanted | string =>
  form === NATIVE ? nativelyWanted(body) : wantedOf(body)

const NATIVE = 'nativeEmbeddings'

const PREDICT: OtherForm = {
  path: `${PATH}predict`,
  says: NATIVE,
  write(body, model, form) {
    const wanted = wantedIn(body, form)
    if (typeof wanted === 'string') return wanted
    const { inputs, dimensions } = wanted
    if (inputs.some(({ parts }) => parts.length > 1)) return 'parts'
    return {
      body: {
        instances: inputs.map(({ parts, taskType, title }) =>
          filled({ content: parts[0], task_type: taskType, title }),
        ),
        ...(dimensions === null ? {} : { parameters: { [DIMENSIONS]: dimensions } }),
      },
      reader: () => new VectorReader(OF_PREDICT, wanted, model),
    }
  },
}

const EMBED_CONTENT: OtherForm = {
  path: `${PATH}embedContent`,
  says: NATIVE,
  write(body, model, form) {
    const wanted = wantedIn(body, form)
    if (typeof wanted === 'string') return wanted
    const { inputs, dimensions } = wanted
    const [{ parts, taskType, title }, second] = inputs as [Input, Input?]
    if (second !== undefined) return form === NATIVE ? 'requests' : 'input'
    const config = filled({ taskType, title, [DIMENSIONS]: dimensions })
    return {
      body: {
        content: { parts: parts.map(text => ({ text })) },
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
