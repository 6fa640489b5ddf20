/** Answers of native generate-content. Every event has the usage so far; thoughts are counted beside the candidates. */
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { idOf, parseEvent, saysError, shortText } from '../event-text.ts'
import { type Fields, fieldsOf, isFields } from '../fields.ts'
import { isStrangeFinish } from '../finish-words.ts'
import type { ItemRules } from '../items.ts'
import { lastObject } from '../last-object.ts'
import type { MeterOptions } from '../meter.ts'
import { fromPrompt, listedDetails, split } from '../modalities.ts'
import { bytesAsText, Patterns } from '../patterns.ts'
import { DATA, KIND, Places, type Spot } from '../picture-places.ts'
import { PictureCounter } from '../pictures.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, type Report, report } from '../reports.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import type { ToldTiers } from '../tiers.ts'

const KEYS = new ContentKeys({
  text: ['text'],
  whole: [
    'functionCall',
    'function_call',
    'executableCode',
    'executable_code',
    'codeExecutionResult',
    'code_execution_result',
  ],
  encoded: ['data', 'thoughtSignature'],
})
/**
 * The place of a picture. One that belongs to the thoughts is a draft, and costs only what is reported for thoughts.
 */
const BLOB: Spot = { picture: /^image\//i, inside: { data: DATA, mimeType: KIND, mime_type: KIND } }
const PART: Spot = { inside: { thought: { role: 'draft' }, inlineData: BLOB, inline_data: BLOB } }
const PICTURES = new Places('nline', { inside: { candidates: { inside: { content: { inside: { parts: PART } } } } } })
const FINISHED = Buffer.from('"finishReason"')
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/**
 * Returns null for usage without the tokens of the prompt: early events of some upstreams tell only the kind of
 * traffic.
 */
function reportOf(value: unknown): Report | null {
  if (!isFields(value)) return null
  const prompt = first(value, 'promptTokenCount')
  if (prompt === null) return null
  const tools = first(value, 'toolUsePromptTokenCount') ?? 0
  const thoughts = first(value, 'thoughtsTokenCount') ?? 0
  const candidates = first(value, 'candidatesTokenCount')
  const rest = (first(value, 'totalTokenCount') ?? 0) - prompt - tools
  const usage = fromPrompt({
    prompt,
    cached: first(value, 'cachedContentTokenCount') ?? 0,
    output: candidates ?? Math.max(0, rest - thoughts),
    details: {
      prompt: listedDetails(value['promptTokensDetails']),
      cached: listedDetails(value['cacheTokensDetails']),
      output: listedDetails(value['candidatesTokensDetails']),
    },
  })
  if (tools > 0) {
    const { text, image, audio } = split(tools, listedDetails(value['toolUsePromptTokensDetails']))
    usage.input += text
    usage.input_image += image
    usage.input_audio += audio
  }
  usage.output += thoughts
  return report(usage, { namesOutput: candidates !== null || rest > thoughts, thinks: thoughts > 0 })
}

/** One family of providers tells a tier, the other a kind of traffic that has the tier in its name. */
function tiersIn(value: unknown): ToldTiers {
  const { serviceTier, trafficType } = fieldsOf(value)
  if (typeof trafficType !== 'string') return { service: serviceTier }
  const traffic = trafficType === 'ON_DEMAND' ? 'standard' : trafficType.replace(/^ON_DEMAND_/, '').toLowerCase()
  return { service: serviceTier ?? traffic }
}

/** Notes the queries of a candidate. Events repeat them, and the same query twice is charged once. */
function noteQueries(tally: Pick<Tally, 'search'>, candidate: Fields): void {
  const queries = fieldsOf(candidate['groundingMetadata'])['webSearchQueries']
  if (!Array.isArray(queries)) return
  for (const query of queries) if (typeof query === 'string' && query !== '') tally.search(query)
}

function noteCandidate(tally: Pick<Tally, 'search' | 'unknownFinish'>, candidate: Fields): void {
  noteQueries(tally, candidate)
  if (isStrangeFinish('generate', candidate['finishReason'])) tally.unknownFinish = true
}

const MEMBERS: ReadonlySet<string> = new Set(['responseId', 'usageMetadata', 'error'])

/**
 * The ends of `usageMetadata`, `finishReason`, `blockReason` and `error`: a search is faster when patterns begin with
 * rare letters.
 */
const ENDS = ['ageMetadata"', 'shReason"', 'ckReason"', 'rror"']
const MARKERS = new Patterns(ENDS)
/** Where searches have a price: some upstreams tell of them in events that have nothing else of interest. */
const SEARCH_MARKERS = new Patterns([...ENDS, 'bSearchQueries"'])

const KNOWN = new Patterns(['"candidates"', '"usageMetadata"', '"promptFeedback"', '"error"'])

class Rules implements EventRules {
  readonly markers: Patterns

  constructor(searches: boolean) {
    this.markers = searches ? SEARCH_MARKERS : MARKERS
  }

  knows(_name: string, data: Buffer, cut: Buffer | null): boolean {
    return KNOWN.isIn(bytesAsText(cut ?? data))
  }

  read(tally: Tally, _name: string, data: Buffer, cut: Buffer | null): void {
    // once id and model are known, an event without any of these patterns tells nothing
    if (tally.stop.answerId && tally.stop.model && !this.markers.isIn(bytesAsText(data))) return
    const parsed = parseEvent(data, cut)
    const usage = parsed === undefined ? lastObject(data, 'usageMetadata', 1) : parsed['usageMetadata']
    tally.report(reportOf(usage))
    tally.tell(tiersIn(usage))
    if (parsed === undefined) {
      if (cut !== null && data.includes(FINISHED)) tally.terminal = true
      return
    }
    if (saysError(parsed['error'])) tally.failed = true
    if (finished(parsed)) tally.terminal = true
    const { candidates } = parsed
    if (Array.isArray(candidates)) for (const candidate of candidates) noteCandidate(tally, fieldsOf(candidate))
    tally.answerId ??= idOf(parsed['responseId'])
    tally.stop = { answerId: shortText(parsed['responseId'], ''), model: shortText(parsed['modelVersion'], '') }
  }
}

function finished(chunk: Record<string, unknown>): boolean {
  if (fieldsOf(chunk['promptFeedback'])['blockReason'] !== undefined) return true
  const { candidates } = chunk
  return Array.isArray(candidates) && candidates.some(c => isFields(c) && typeof c['finishReason'] === 'string')
}

const ITEMS: ItemRules = {
  array: 'candidates',
  branch: { groundingMetadata: { webSearchQueries: 'text' }, finishReason: 'text' },
  read: noteCandidate,
}

const DOCUMENT: DocumentRules = {
  members: MEMBERS,
  items: ITEMS,
  own: ['candidates', 'usageMetadata', 'promptFeedback'],
  keys: KEYS,
  reportOf: document => reportOf(document.value('usageMetadata')),
  tiersOf: document => tiersIn(document.value('usageMetadata')),
  id: 'responseId',
}

export const generateAnswers: AnswerForm = {
  terminalIsLast: false,
  meter({ events, pictures, searches = false }: MeterOptions) {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events ? new StreamMeter(new Rules(searches), KEYS, counter) : new DocumentMeter(DOCUMENT, counter)
  },
  words: {
    keepAlive: '\n',
    error: (status, message) => event({ error: { code: status, message, status: 'UNAVAILABLE' } }),
    lengthStop: ({ answerId, model, input, cached, output }) =>
      event({
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }],
        usageMetadata: {
          promptTokenCount: input,
          ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
          candidatesTokenCount: output,
          totalTokenCount: input + output,
        },
        modelVersion: model,
        responseId: answerId,
      }),
  },
  countAnswer: tokens => ({ totalTokens: tokens }),
}
