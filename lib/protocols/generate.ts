/** Native generate-content (gamma). Its paths name the model and what is to be done with it. */

import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules, type ItemRules } from './answers/document-meter.ts'
import { answerIdOf, type StreamEvent, saysError, shortText } from './answers/events.ts'
import type { MeterOptions, SeenInAnswer } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { Patterns } from './json/patterns.ts'
import { type Fields, fieldsOf, isFields } from './json/text.ts'
import { modalities, voice } from './layouts.ts'
import { DATA, KIND, PictureCounter, PicturePlaces, type Spot } from './pictures/counter.ts'
import { clientPath, gammaClient, gammaUpstream, type ProtocolRow, TEXT_COVER } from './protocol.ts'
import { bareTool, endMembers, memberTool } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { strangeFinish } from './words/finish-words.ts'
import { first, fromPrompt, listedDetails, type Report, split, type ToldTiers, usageReport } from './words/reports.ts'
import { GROUNDED } from './words/server-tools.ts'

const LONGEST_URL = 4096

const blob = new Place({
  end(draft, { dataLength, mime }) {
    if (dataLength > 0) read.inline(draft, mime, dataLength)
  },
})
  .has('mimeType', { alias: 'mime_type', read: read.mime })
  .has('data', read.data)

const fileData = new Place({
  end(draft, { urls, mime }) {
    if (mime.startsWith('image/')) draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
  },
})
  .has('mimeType', { alias: 'mime_type', read: read.mime })
  .has('fileUri', {
    alias: 'file_uri',
    limit: LONGEST_URL,
    read(draft, value, frame) {
      if (value.end - value.start > 2 && !isOfTheWeb(read.capturedString(value))) draft.invalid ??= 'fileUri'
      read.url(draft, value, frame)
    },
  })

/** Tells whether a URL is one of the web, and not of a file in the upstream's own store. */
function isOfTheWeb(text: string | null): boolean {
  const found = text === null ? null : URL.parse(text)
  return found !== null && /^https?:$/.test(found.protocol) && !found.hostname.includes('generativelanguage')
}

const part = new Place()
  .has('inlineData', { alias: 'inline_data', inside: blob })
  .has('fileData', { alias: 'file_data', inside: fileData })
const functionResponse = new Place().has('parts', { inside: part })
part.has('functionResponse', { alias: 'function_response', inside: functionResponse })
export const content = new Place().has('parts', { inside: part })

/** Each member is a tool. */
const tool = new Place({ element: bareTool, other: memberTool, end: endMembers })
  .has('fileSearch', { alias: 'file_search', read: read.stored('fileSearch') })
  .has('retrieval', read.stored('retrieval'))

const imageConfig = new Place({
  end(draft, { picture }) {
    draft.pictures = true
    if (picture !== null) read.askPicture(draft, picture)
  },
}).has('imageSize', { alias: 'image_size', read: read.pictureSaid('size') })

const thinking = new Place()
  .has('thinkingLevel', { alias: 'thinking_level', read: read.effort })
  .has('thinkingBudget', { alias: 'thinking_budget', read: read.thinkingBudget })
  .has('includeThoughts', { alias: 'include_thoughts', read: read.thinks })

const config = new Place()
  .has('maxOutputTokens', { alias: 'max_output_tokens', read: read.maximum('maxOutputTokens') })
  .has('thinkingConfig', { alias: 'thinking_config', inside: thinking })
  .has('candidateCount', { alias: 'candidate_count', read: read.answers })
  .has('responseModalities', { alias: 'response_modalities', ...modalities })
  .has('speechConfig', { alias: 'speech_config', read: voice })
  // other models, whose prices are not known here
  .has('routingConfig', { alias: 'routing_config', read: read.stored('routingConfig') })
  .has('modelConfig', { alias: 'model_config', read: read.stored('modelConfig') })
  .has('modelSelectionConfig', { alias: 'model_selection_config', read: read.stored('modelSelectionConfig') })
  .has('imageConfig', { alias: 'image_config', inside: imageConfig })

const generateBody = new Place()
  .has('model', read.model)
  .has('contents', { inside: content })
  .has('systemInstruction', { alias: 'system_instruction', inside: content })
  .has('generationConfig', {
    alias: 'generation_config',
    inside: config,
  })
  .has('tools', { inside: tool })
  .has('cachedContent', { alias: 'cached_content', read: read.stored('cachedContent') })
  .has('continuationToken', { alias: 'continuation_token', read: read.stored('continuationToken') })
  .has('outputConfig', { alias: 'output_config', read: read.stored('outputConfig') })
  .has('serviceTier', {
    alias: 'service_tier',
    read: read.tier('service', 'serviceTier'),
  })
// a request for a count may have the whole request inside
generateBody.has('generateContentRequest', { alias: 'generate_content_request', inside: generateBody })

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
 * Returns null for usage without the tokens of the prompt and of the answer: early events of some upstreams tell only the kind of
 * traffic.
 */
function reportOf(value: unknown): Report | null {
  if (!isFields(value)) return null
  const prompt = first(value, 'promptTokenCount')
  const candidates = first(value, 'candidatesTokenCount')
  if (prompt === null && candidates === null) return null
  const tools = first(value, 'toolUsePromptTokenCount') ?? 0
  const thoughts = first(value, 'thoughtsTokenCount') ?? 0
  const cached = first(value, 'cachedContentTokenCount') ?? 0
  const rest = prompt === null ? 0 : (first(value, 'totalTokenCount') ?? 0) - prompt - tools
  const usage = fromPrompt({
    prompt: prompt ?? cached,
    cached,
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
  const namesOutput = candidates !== null || rest > thoughts
  return usageReport(usage, { namesInput: prompt !== null, namesOutput, thinks: thoughts > 0 })
}

/** One family of providers tells a tier, the other a kind of traffic that has the tier in its name. */
function tiersIn(value: unknown): ToldTiers {
  const { serviceTier, trafficType } = fieldsOf(value)
  if (typeof trafficType !== 'string') return { service: serviceTier }
  const traffic = trafficType === 'ON_DEMAND' ? 'standard' : trafficType.replace(/^ON_DEMAND_/, '').toLowerCase()
  return { service: serviceTier ?? traffic }
}

/** Notes the queries of a candidate. Events repeat them, and the same query twice is charged once. */
function noteQueries(meter: SeenInAnswer, candidate: Fields): void {
  const queries = fieldsOf(candidate['groundingMetadata'])['webSearchQueries']
  if (!Array.isArray(queries)) return
  for (const query of queries) if (typeof query === 'string' && query !== '') meter.search(query)
}

function noteCandidate(meter: SeenInAnswer, candidate: Fields): void {
  noteQueries(meter, candidate)
  meter.unknownFinish ??= strangeFinish('generate', candidate['finishReason'])
}

const MEMBERS: ReadonlySet<string> = new Set(['responseId', 'usageMetadata', 'error'])

const MAPS = 'google_maps'
/** The names of tools in the calls that the upstream tells of. */
const TOOL_TYPES: Readonly<Record<string, string>> = { GOOGLE_MAPS: MAPS }

/** Notes tools that cost by the piece: calls that are told, and what the answer was grounded on. */
function noteTools(meter: SeenInAnswer, candidate: Fields): void {
  const { groundingMetadata, content } = candidate
  const { groundingChunks: chunks, googleMapsWidgetContextToken: widget } = fieldsOf(groundingMetadata)
  if (Array.isArray(chunks) && chunks.length > 0) {
    meter.call(GROUNDED, null)
    if (chunks.some(chunk => isFields(fieldsOf(chunk)['maps']))) meter.call(MAPS, null)
  }
  if (typeof widget === 'string' && widget !== '') meter.call(MAPS, null)
  const { parts } = fieldsOf(content)
  if (!Array.isArray(parts)) return
  for (const [index, part] of parts.entries()) {
    const { toolType, id } = fieldsOf(fieldsOf(part)['toolCall'])
    const stem = typeof toolType === 'string' && Object.hasOwn(TOOL_TYPES, toolType) ? TOOL_TYPES[toolType] : undefined
    if (stem !== undefined) meter.call(stem, typeof id === 'string' && id !== '' ? id : `#${index}`)
  }
}

function noteAll(meter: SeenInAnswer, candidate: Fields): void {
  noteCandidate(meter, candidate)
  noteTools(meter, candidate)
}

/**
 * The ends of `usageMetadata`, `finishReason`, `blockReason` and `error`: a search is faster when patterns begin with
 * rare letters.
 */
const ENDS = ['ageMetadata"', 'shReason"', 'ckReason"', 'rror"']
const MARKERS = new Patterns(ENDS)
/** The markers where searches have a price: some upstreams tell of them in events that have nothing else of interest. */
const SEARCH_MARKERS = new Patterns([...ENDS, 'bSearchQueries"'])
/** The markers where tools cost by the piece. */
const TOOL_MARKERS = new Patterns([...ENDS, 'bSearchQueries"', 'undingChunks"', 'eMapsWidget', 'oolCall"'])

const KNOWN = new Patterns(['"candidates"', '"usageMetadata"', '"promptFeedback"', '"error"'])

class Rules implements EventRules {
  readonly markers: Patterns
  readonly #note: typeof noteAll

  constructor(searches: boolean, tools: boolean) {
    this.markers = tools ? TOOL_MARKERS : searches ? SEARCH_MARKERS : MARKERS
    this.#note = tools ? noteAll : noteCandidate
  }

  knows({ begin }: StreamEvent): boolean {
    return KNOWN.isIn(begin.toString('latin1'))
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    // once id and model are known, an event without any of these patterns tells nothing
    if (meter.stop.answerId && meter.stop.model && !this.markers.isIn(event.data.toString('latin1'))) return
    const usage = event.fieldsOr('usageMetadata')['usageMetadata']
    meter.report(reportOf(usage))
    meter.tell(tiersIn(usage))
    const parsed = event.fields
    if (parsed === null) {
      if (event.isCut && event.data.includes(FINISHED)) meter.terminal = true
      return
    }
    if (saysError(parsed['error'])) meter.failed = true
    if (finished(parsed)) meter.terminal = true
    const { candidates } = parsed
    meter.answerId ??= answerIdOf(parsed['responseId'])
    if (Array.isArray(candidates)) for (const candidate of candidates) this.#note(meter, fieldsOf(candidate))
    meter.stop = { answerId: shortText(parsed['responseId'], ''), model: shortText(parsed['modelVersion'], '') }
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

const PATH = '/v1beta/models/{model}:{verb}'

export const generate: ProtocolRow = {
  place: 5,
  client: gammaClient(
    { alt: ['sse', 'json'] },
    clientPath('/models/{model}:generateContent'),
    clientPath('/models/{model}:streamGenerateContent'),
    clientPath('/models/{model}:countTokens', { action: 'count' }),
  ),
  upstream: {
    ...gammaUpstream({ gemini: PATH, vertex: '/publishers/google/models/{model}:{verb}' }),
    verbs: { document: 'generateContent', stream: 'streamGenerateContent', streamQuery: 'alt=sse' },
  },
  body: jsonBody(generateBody),
  // without it the answer to `streamGenerateContent` is one document, an array of what would have been the events
  streamsByPath: (verb, query) => verb === 'streamGenerateContent' && query === '?alt=sse',
  arrayByPath: (verb, query) => verb === 'streamGenerateContent' && query !== '?alt=sse',
  asksForUsage: false,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false },
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
  lastUsage: ({ candidates, usageMetadata }) =>
    !Array.isArray(candidates) || candidates.some(one => typeof fieldsOf(one)['finishReason'] === 'string')
      ? usageMetadata
      : undefined,
  countAnswer: tokens => ({ totalTokens: tokens }),
}
