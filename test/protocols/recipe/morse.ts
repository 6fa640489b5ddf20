/**
 * A protocol that nobody speaks, for `recipe.test.ts`: it goes up as a multipart form, comes down as bytes, never streams,
 * and has two paths. Each byte of an answer is a token of output.
 */
import type { BodyForm, BodyScan } from '../../../lib/protocols/requests/body.ts'
import { Draft, type Facts, factsOf } from '../../../lib/protocols/requests/facts.ts'
import { ALL_MAXIMA } from '../../../lib/protocols/words/maxima.ts'
import type { Meter } from '../../../lib/protocols/answers/meter.ts'
import { clientPath, NO_WORDS, type ProtocolRow, SAME_HEADERS } from '../../../lib/protocols/protocol.ts'
import { noUsage, type Usage } from '../../../lib/protocols/words/usage.ts'

/** No more of a form is kept: the fields that matter stand before the file. */
const KEPT = 4096
const MODEL = /(name="model"\r\n\r\n)([^\r\n]+)\r\n/

class FormScan implements BodyScan {
  #text = ''
  #bytes = 0

  feed(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#text += chunk.toString('latin1', 0, KEPT - this.#text.length)
  }

  end(): Facts | null {
    const found = MODEL.exec(this.#text)
    if (found === null) return null
    const draft = new Draft()
    const start = found.index + (found[1] as string).length
    draft.model = found[2] as string
    draft.modelIsString = true
    draft.modelSpan = { start, end: start + draft.model.length }
    draft.maximum = 1000
    draft.maxima = ALL_MAXIMA
    return factsOf(draft, this.#bytes, 0)
  }
}

const form: BodyForm = {
  reads: type => type?.startsWith('multipart/form-data') === true,
  scan: () => new FormScan(),
  typeUpstream: type => type,
  mapModel: ({ modelSpan }, name) => ({ span: modelSpan ?? { start: 0, end: 0 }, bytes: Buffer.from(name) }),
}

class BytesMeter implements Meter {
  counted = 0
  terminal = false
  readonly namesInput = true
  readonly passes = []
  readonly pictureKinds = []
  readonly searches = 0
  readonly tools = []
  readonly onlyContent = true
  readonly seenImages = 0
  readonly seenSearches = 0
  readonly units = 0
  readonly tiers = { service: null, speed: null, geo: null }
  readonly images = 0
  readonly seconds = 0
  readonly secondsReported = false
  readonly foreign = false
  readonly failed = false
  readonly thinks = false
  readonly answerId = null
  readonly unknownFinish = null
  readonly undecided = false
  readonly failedAlone = false
  readonly atBoundary = false
  readonly matters = 0
  readonly isContent = false

  feed(chunk: Buffer): void {
    this.counted += chunk.length
  }

  end(whole: boolean): void {
    this.terminal = whole
  }

  get usage(): Usage | null {
    return this.terminal ? { ...noUsage(), output: this.counted } : null
  }

  get produced(): number {
    return this.counted
  }

  get reportedOutput(): number {
    return this.usage?.output ?? 0
  }

  get final(): boolean {
    return this.terminal
  }

  get concluded(): boolean {
    return this.terminal
  }

  lengthStopState() {
    return {}
  }
}

export const morse: ProtocolRow = {
  place: 6,
  client: {
    paths: [clientPath('/morse/slow'), clientPath('/morse/fast', { lastStep: 'fast' })],
    versions: ['/v1'],
    repeatsVersion: false,
    placements: ['bearer'],
    query: {},
    typesErrors: false,
  },
  upstream: {
    path: '/v1/morse/slow',
    ending: /\/morse\/slow$/,
    authHeader: 'x-morse-key',
    kinds: { openai: '/v1/morse/slow' },
    atProvider: SAME_HEADERS,
  },
  body: form,
  streamsByPath: () => false,
  asksForUsage: false,
  price: { cover: [['output']], pictures: false, cachesWhenAsked: false },
  meter: () => new BytesMeter(),
  words: NO_WORDS,
  terminalIsLast: false,
  countAnswer: null,
}
