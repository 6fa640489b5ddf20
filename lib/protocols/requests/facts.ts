/**
 * What a request's body says, as far as the gateway has to know it. The readers of values write it down in a draft while the body
 * arrives; when the body is whole, the draft becomes its facts.
 */
import { startOf } from '../json/scanner.ts'
import { DENSEST_BYTES_PER_S, wholeSeconds } from '../sound/sound.ts'
import { type AskedEffort, type Maxima, NO_MAXIMA } from '../words/maxima.ts'
import { type AskedTool, stemOf } from '../words/server-tools.ts'
import { MOST_TOKENS, NO_TIERS, type PictureKind, type TierNames, UNSAID } from '../words/usage.ts'

/** The input of a request, counted by kind (text, pictures, documents, sound, tools), from which the tariff estimates its tokens. */
export interface Prompt {
  /**
   * Bytes of the body that count as text, JSON syntax included, without the base64 of pictures, sound and documents.
   */
  textBytes: number
  /** Number of tokens that stand in the body as numbers, in the place of text. */
  tokens: number
  /** Number of pictures inside the body. */
  pictures: number
  /** Number of documents and films inside the body. */
  documents: number
  /** The most pages that all of these documents together may have. */
  pages: number
  /** Number of pieces of sound inside the body. */
  sounds: number
  /** The most seconds that all of these pieces together may last. */
  soundS: number
  /** Number of pictures by URL, which the upstream fetches. */
  remotePictures: number
  /**
   * Number of documents, films and sounds by URL, and of earlier answers that are continued. Their size is not known.
   */
  remoteDocuments: number
  /** Uses of tools that the upstream runs, as far as the request limits them. */
  toolUses: number
  /** Number of tools that the upstream runs and whose uses the request does not limit. */
  unlimitedTools: number
}

/** The uses of tools, as far as the request limits them, and the number of tools that it does not limit. */
export interface ToolUses {
  uses: number
  unlimited: number
}

const NO_USES: ToolUses = { uses: 0, unlimited: 0 }

export const textOnly = (textBytes: number): Prompt => ({
  textBytes,
  tokens: 0,
  pictures: 0,
  documents: 0,
  pages: 0,
  sounds: 0,
  soundS: 0,
  remotePictures: 0,
  remoteDocuments: 0,
  toolUses: 0,
  unlimitedTools: 0,
})

const PIECE_BYTES = 500
const PIECES_A_UNIT = 100

/**
 * Units of search, by which rerank requests are billed: an upstream splits each document, together with the query, into pieces of
 * some 500 tokens, and a unit is a hundred of these. A token has at least a byte, so that no request comes to more units than are
 * counted here. The query may stand behind the documents, so the remainders of their lengths are counted until it is known.
 */
export class SearchUnits {
  #whole = 0
  /** The number of documents by the bytes that remain of them. */
  readonly #remains = new Map<number, number>()
  queryBytes = 0

  add(documentBytes: number): void {
    const remains = documentBytes % PIECE_BYTES
    this.#whole += (documentBytes - remains) / PIECE_BYTES
    this.#remains.set(remains, (this.#remains.get(remains) ?? 0) + 1)
  }

  /** The most that the request can come to; at least 1. */
  get most(): number {
    let pieces = this.#whole
    for (const [remains, documents] of this.#remains)
      pieces += documents * Math.ceil((remains + this.queryBytes) / PIECE_BYTES)
    return Math.max(1, Math.ceil(pieces / PIECES_A_UNIT))
  }
}

/** A half-open range of byte offsets in the whole body. */
export interface Span {
  start: number
  end: number
}

export interface StreamOptions {
  /** The value of the member `stream_options`. */
  span: Span
  isObject: boolean
  /** The span of the `include_usage` value; null = there is none. */
  includeUsage: Span | null
  empty: boolean
  /** True: there is a member `include_cost`, which is for us. */
  namesCost: boolean
}

/** A member of the body that may be left out. */
export interface Removable {
  name: string
  /** The number of members of the body that stand before it. */
  index: number
  /** Offsets of its key, and behind its value. */
  start: number
  end: number
  /** The offset at which the value of the member before it ends; -1 = it is the first. */
  before: number
  /** The offset at which the key of the next one begins; -1 = it is the last. */
  next: number
}

/** A tool by which the upstream asks another model while it answers. */
interface Advisor {
  /** The uses of it; null = not limited. */
  uses: number | null
  /** Output tokens of each use; null = not limited. */
  maximum: number | null
}

/** A string of so many bytes, quotes included, is long. */
export const LONG_STRING_BYTES = 4096

/** How the strings begin in which clients keep the state of an upstream of another protocol for us, plain and in base64. */
export const STATE_STARTS = ['gw', 'Z3'].map(startOf)

/** A list of what nearly no body has: it is the same in all of them, and `added` makes another one. */
const NONE: never[] = Object.freeze([]) as unknown as never[]

/** The list with one more element. The list of the facts is to be replaced by it. */
export function added<T>(list: T[], one: T): T[] {
  if (list === NONE) return [one]
  list.push(one)
  return list
}

export class Facts {
  /** Top-level `model`, decoded; null = missing. */
  model: string | null = null
  /** False: there is a `model`, and it is no string, or too long to be a name. */
  modelIsString = false
  /** The value of the member `model`, quotes included. */
  modelSpan: Span | null = null
  /** The places in which the body names the model of the path again, where all of them are to be replaced together. */
  readonly repeatedModels: readonly Span[] = NONE
  stream = false
  /**
   * The largest number of output tokens that the body names, whatever the name, with what it predicts, which is billed beside it
   * where it does not come; null = none. 0 to 10^9.
   */
  maxOutput: number | null = null
  /** The names under which the body names a maximum: it counts only where the upstream reads one of them. */
  maxima: Maxima = NO_MAXIMA
  /** Output tokens that may be thought beside the maximum, where the upstream reads `thinking_budget`; 0 = none is named. */
  thinkingBudget = 0
  /** The upstream may write and bill what is no part of its answer: text that is predicted and does not come, or answers that are not the best. */
  writesUnseen = false
  /** The effort with which the model is asked to think. */
  effort: AskedEffort = 'off'
  /** The number of answers that are wanted; 1 to 10^6. */
  n = 1
  /** True: `stream_options.include_usage` is `true`. */
  includeUsage = false
  streamOptions: StreamOptions | null = null
  /** The body asks that a stream tells what it cost. */
  asksCost = false
  /** The body has a member by which most upstreams cannot be asked what an answer costs. */
  namesUsage = false
  background = false
  /** The longest life of a cache entry that the body asks for; null = it asks for none. */
  cacheTtl: '5m' | '1h' | null = null
  /** `prompt_cache_key`, `metadata.user_id`: the conversation that this is. */
  promptCacheKey: string | null = null
  userId: string | null = null
  /** `previous_response_id`: the earlier answer that this request continues; null = none. */
  previousAnswer: string | null = null
  prompt: Prompt = textOnly(0)
  /** Number of tools of the upstream that draw pictures. */
  drawingTools = 0
  /** The uses of all tools of the upstream together; null = not limited. */
  maxToolCalls: number | null = null
  /** The tools that are not free. */
  readonly tools: readonly AskedTool[] = NONE
  /** Units of search that the request comes to at most; 1 = it is no rerank request. */
  units = 1
  /** Searches of the web that the upstream may make, and uses of its other tools. */
  searches: ToolUses = NO_USES
  otherUses: ToolUses = NO_USES
  /** Searches that are left out of the body, because they are only offered and have no price; null = none are. */
  leftOut: readonly AskedTool[] | null = null
  /** Members of the body that may be left out with them. */
  readonly removable: readonly Removable[] = NONE
  /** True when the list of the body itself has a tool that is not left out. */
  keepsTools = false
  /** True when the answer may hold sound, and pictures. */
  answersSound = true
  answersPictures = true
  /** Passes by other models in the course of the answer. */
  readonly advisors: readonly Advisor[] = NONE
  /** Code points of text that is to be spoken. */
  characters = 0
  /** The most seconds that speaking this text takes. */
  spokenS = 0
  /** Seconds of sound in files that are to be written down. */
  uploadS = 0
  /** The most that this sound can last, whatever its files say. */
  mostUploadS = 0
  /** Bytes of a second of the answer, where plain samples are asked for; null = they are not. */
  soundBytesPerS: number | null = null
  /** Names of other models that the upstream may use for the request. */
  readonly otherModels: readonly string[] = NONE
  /** The first field because of which the request is refused: two readers could take it differently, or it names what we do not offer. */
  invalid: string | null = null
  /** The names of tier, speed and place that are asked for. */
  tiers: TierNames = NO_TIERS
  /** The size and the quality of the pictures that are asked for; where tools ask for different ones, neither is said. */
  picture: PictureKind = UNSAID
  /** True when the request asks for pictures as base64 in the answer. */
  encodedPictures = false
  /** The offset just after the opening brace; 0 where bodies have no braces. */
  openedAt = 0
  /** True when a string of the body begins as one of `STATE_STARTS`. */
  mayHaveState = false
  /** Offsets of the long strings that were come upon, quotes included: start and end of the first, of the second … */
  readonly longStrings: readonly number[] = NONE
}

/** The facts while the body arrives, with what some of them are computed from when it is whole. */
export class Draft extends Facts {
  declare repeatedModels: Span[]
  declare tools: AskedTool[]
  declare removable: Removable[]
  declare advisors: Advisor[]
  declare otherModels: string[]
  declare longStrings: number[]
  /** The largest of all maxima of output tokens, whatever their names; null = none is named. */
  maximum: number | null = null
  /** Bytes of text that the answer is expected to repeat. */
  predictedBytes = 0
  /** True when pictures follow from one another; how many there may be, null = the request does not say. */
  sequence = false
  sequenceLimit: number | null = null
  /** The prompts in a list of them, each of which has its own answers; 0 = there is no such list. */
  listedPrompts = 0
  /** The answers of which the best are returned. */
  bestOf = 1
  /** Bytes of base64 in the body. */
  mediaBytes = 0
  /** Bytes of text that upstreams count in addition, because they read a part of the body more than once. */
  repeatedBytes = 0
  /** Bytes of the query of a rerank request, how many documents it has, and what both come to; null = it is another request. */
  queryBytes = 0
  documents = 0
  searchUnits: SearchUnits | null = null
  /** The speed at which text is spoken, where it is slower than usual: 0.25 to 1. */
  pace = 1
  /** Seconds, in fractions, and bytes of sound in files that are to be written down. */
  soundS = 0
  soundBytes = 0
  /** The samples of a second of the answer, as far as the body says so. */
  samplesPerS: number | null = null
  /** The size and quality of pictures that are asked for; null = none are named. */
  askedPicture: PictureKind | null = null
  /** True when a part of a message is of a kind that is not known. */
  hasUnknownPart = false
  /** The number of elements that the lists of tools have. */
  listedTools = 0
  /** The tools that the request says have to be used: by type or name, any of them, or a search. */
  chosen: string[] = NONE
  mustUse = false
  forcesSearch = false
  /** True when the answer may hold sound, and pictures; null = nothing says so or otherwise. */
  sound: boolean | null = null
  pictures: boolean | null = null
}

/** Says of the tools of a whole body which are forced. */
function force({ tools, chosen, mustUse, forcesSearch, listedTools }: Draft): void {
  const searches = tools.filter(({ cost, place }) => cost === 'web_search' && place !== null && 'element' in place)
  // each name is read once: clients choose how many there are
  const names = new Set(chosen)
  const stems = new Set(chosen.map(stemOf))
  const isOnly = new Set(mustUse && searches.length === listedTools ? searches : [])
  for (const tool of tools) {
    const isChosen = names.has(tool.name) || stems.has(tool.stem)
    tool.forced ||= isChosen || isOnly.has(tool) || (forcesSearch && tool.cost === 'web_search')
  }
}

/** The uses of tools that bring input: of all, of those that search, and of the others. */
interface AllUses {
  all: ToolUses
  searches: ToolUses
  others: ToolUses
}

const NO_TOOLS: AllUses = { all: NO_USES, searches: NO_USES, others: NO_USES }

function usesOf(draft: Draft): AllUses {
  if (draft.tools.length === 0) return NO_TOOLS
  force(draft)
  const { tools, maxToolCalls } = draft
  const limited = (uses: ToolUses): ToolUses =>
    maxToolCalls !== null && uses.unlimited > 0 ? { uses: maxToolCalls, unlimited: 0 } : uses
  const sum = (counts: (tool: AskedTool) => boolean): ToolUses => {
    const all = { uses: 0, unlimited: 0 }
    for (const tool of tools)
      if (tool.cost !== 'stored' && tool.cost !== 'setting' && counts(tool)) {
        if (tool.uses === null) all.unlimited++
        else all.uses += tool.uses
      }
    return limited(all)
  }
  return {
    all: sum(() => true),
    searches: sum(({ cost }) => cost === 'web_search'),
    others: sum(({ cost }) => cost !== 'web_search'),
  }
}

const MOST_N = 1e6
/** Pictures of a sequence whose length is not said. */
const LONGEST_SEQUENCE = 15
const LEAST_SPOKEN_S = 10

/** Completes the facts of a whole body. */
export function factsOf(draft: Draft, bodyBytes: number, openedAt: number): Facts {
  const { maximum, characters, soundS, soundBytes } = draft
  const uses = usesOf(draft)
  // text that is predicted and does not come is billed beside the maximum, and a token has at least a byte
  if (maximum !== null) draft.maxOutput = Math.min(MOST_TOKENS, maximum + draft.predictedBytes)
  // of more answers than are wanted, some are written and billed that nobody gets
  draft.writesUnseen ||= draft.bestOf > draft.n
  const written = Math.max(draft.n, draft.bestOf)
  draft.n = Math.min(MOST_N, Math.max(written, draft.sequence ? (draft.sequenceLimit ?? LONGEST_SEQUENCE) : 1))
  completePrompt(draft, bodyBytes, uses.all)
  draft.units = draft.searchUnits?.most ?? 1
  draft.searches = uses.searches
  draft.otherUses = uses.others
  draft.answersSound = draft.sound ?? true
  draft.answersPictures = draft.pictures ?? true
  // nothing is spoken slower than a character in a second; but the shortest text has a silence before and behind it
  if (characters > 0) draft.spokenS = Math.ceil(Math.max(LEAST_SPOKEN_S, characters) / draft.pace)
  draft.uploadS = wholeSeconds(soundS)
  draft.mostUploadS = Math.ceil(soundBytes / DENSEST_BYTES_PER_S)
  draft.picture = draft.askedPicture ?? UNSAID
  draft.openedAt = openedAt
  return draft
}

function completePrompt(draft: Draft, bodyBytes: number, { uses, unlimited }: ToolUses): void {
  const { prompt, mediaBytes, repeatedBytes, previousAnswer } = draft
  prompt.textBytes = bodyBytes - mediaBytes + repeatedBytes
  if (previousAnswer !== null) prompt.remoteDocuments++
  prompt.toolUses = uses
  prompt.unlimitedTools = unlimited
}

/** Returns the same request without its searches, which are left out of the body. */
export function withoutSearches(facts: Facts): Facts {
  const tools = facts.tools.filter(({ cost, place }) => cost !== 'web_search' && (cost !== 'setting' || place === null))
  const leftOut = facts.tools.filter(({ cost }) => cost === 'web_search')
  const { uses, unlimited } = facts.otherUses
  const prompt = { ...facts.prompt, toolUses: uses, unlimitedTools: unlimited }
  return { ...facts, tools, leftOut, prompt, searches: NO_USES }
}
