/** Answers of native generate-content. Every event has the usage so far; thoughts are counted beside the candidates. */
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { idOf, parseEvent, saysError, shortText } from '../event-text.ts'
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { isStrangeFinish } from '../words/finish-words.ts'
import type { ItemRules, Seeing } from '../items.ts'
import { lastObject } from '../json/last-members.ts'
import type { MeterOptions } from '../meter.ts'
import { fromPrompt, listedDetails, split, first, type Report, usageReport, type ToldTiers } from '../words/reports.ts'
import { bytesAsText, Patterns } from '../json/patterns.ts'
import { DATA, KIND, PicturePlaces, type Spot, PictureCounter } from '../pictures/counter.ts'
import type { AnswerForm } from '../protocol.ts'
import { GROUNDED } from '../words/server-tools.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'

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
const PICTURES = new PicturePlaces('nline', {
  inside: { candidates: { inside: { content: { inside: { parts: PART } } } } },
})
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
  return usageReport(usage, { namesOutput: candidates !== null || rest > thoughts, thinks: thoughts > 0 })
}

/** One family of providers tells a tier, the other a kind of traffic that has the tier in its name. */
function tiersIn(value: unknown): ToldTiers {
  const { serviceTier, trafficType } = fieldsOf(value)
  if (typeof trafficType !== 'string') return { service: serviceTier }
  const traffic = trafficType === 'ON_DEMAND' ? 'standard' : trafficType.replace(/^ON_DEMAND_/, '').toLowerCase()
  return { service: serviceTier ?? traffic }
}

/** Notes the queries of a candidate. Events repeat them, and the same query twice is charged once. */
function noteQueries(tally: Seeing, candidate: Fields): void {
  const queries = fieldsOf(candidate['groundingMetadata'])['webSearchQueries']
  if (!Array.isArray(queries)) return
  for (const query of queries) if (typeof query === 'string' && query !== '') tally.search(query)
}

function noteCandidate(tally: Seeing, candidate: Fields): void {
  noteQueries(tally, candidate)
  if (isStrangeFinish('generate', candidate['finishReason'])) tally.unknownFinish = true
}

const MEMBERS: ReadonlySet<string> = new Set(['responseId', 'usageMetadata', 'error'])

const MAPS = 'google_maps'
/** What the upstream calls its tools in the calls that it tells of. */
const TOOL_TYPES: Readonly<Record<string, string>> = { GOOGLE_MAPS: MAPS }

/** Notes tools that cost by the piece: calls that are told, and what the answer was grounded on. */
function noteTools(tally: Seeing, candidate: Fields): void {
  const { groundingMetadata, content } = candidate
  const { groundingChunks: chunks, googleMapsWidgetContextToken: widget } = fieldsOf(groundingMetadata)
  if (Array.isArray(chunks) && chunks.length > 0) {
    tally.call(GROUNDED, null)
    if (chunks.some(chunk => isFields(fieldsOf(chunk)['maps']))) tally.call(MAPS, null)
  }
  if (typeof widget === 'string' && widget !== '') tally.call(MAPS, null)
  const { parts } = fieldsOf(content)
  if (!Array.isArray(parts)) return
  for (const [index, part] of parts.entries()) {
    const { toolType, id } = fieldsOf(fieldsOf(part)['toolCall'])
    const stem = typeof toolType === 'string' && Object.hasOwn(TOOL_TYPES, toolType) ? TOOL_TYPES[toolType] : undefined
    if (stem !== undefined) tally.call(stem, typeof id === 'string' && id !== '' ? id : `#${index}`)
  }
}

function noteAll(tally: Seeing, candidate: Fields): void {
  noteCandidate(tally, candidate)
  noteTools(tally, candidate)
}

/**
 * The ends of `usageMetadata`, `finishReason`, `blockReason` and `error`: a search is faster when patterns begin with
 * rare letters.
 */
const ENDS = ['ageMetadata"', 'shReason"', 'ckReason"', 'rror"']
const MARKERS = new Patterns(ENDS)
/** Where searches have a price: some upstreams tell of them in events that have nothing else of interest. */
const SEARCH_MARKERS = new Patterns([...ENDS, 'bSearchQueries"'])
/** Where tools cost by the piece. */
const TOOL_MARKERS = new Patterns([...ENDS, 'bSearchQueries"', 'undingChunks"', 'eMapsWidget', 'oolCall"'])

const KNOWN = new Patterns(['"candidates"', '"usageMetadata"', '"promptFeedback"', '"error"'])

class Rules implements EventRules {
  readonly markers: Patterns
  readonly #note: typeof noteAll

  constructor(searches: boolean, tools: boolean) {
    this.markers = tools ? TOOL_MARKERS : searches ? SEARCH_MARKERS : MARKERS
    this.#note = tools ? noteAll : noteCandidate
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
    tally.answerId ??= idOf(parsed['responseId'])
    if (Array.isArray(candidates)) for (const candidate of candidates) this.#note(tally, fieldsOf(candidate))
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

const TOOL_ITEMS: ItemRules = {
  array: 'candidates',
  branch: {
    groundingMetadata: {
      webSearchQueries: 'text',
      googleMapsWidgetContextToken: 'text',
      groundingChunks: { maps: {} },
    },
    content: { parts: { toolCall: { toolType: 'text', id: 'text' } } },
    finishReason: 'text',
  },
  read: noteAll,
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

const TOOL_DOCUMENT: DocumentRules = { ...DOCUMENT, items: TOOL_ITEMS }

export const generateAnswers: AnswerForm = {
  terminalIsLast: false,
  meter({ events, pictures, searches = false, tools = false, mostOutput }: MeterOptions) {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events
      ? new StreamMeter(new Rules(searches, tools), KEYS, counter)
      : new DocumentMeter(tools ? TOOL_DOCUMENT : DOCUMENT, mostOutput, counter)
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
