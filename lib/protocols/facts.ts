/** What a request's body says, as far as the gateway has to know it: what a scan of the body finds while it arrives. */
import { usesOf, withUses } from './asked-tools.ts'
import type { Advisor, Draft, Removable, Span, StreamOptions } from './draft.ts'
import type { AskedEffort, Maxima } from './words/maxima.ts'
import { MOST_TOKENS, type PictureKind, type TierNames, UNSAID } from './words/usage.ts'
import type { Prompt, ToolUses } from './prompt.ts'
import type { AskedTool } from './words/server-tools.ts'
import { DENSEST_BYTES_PER_S, wholeSeconds } from './sound/sound.ts'

export interface Facts {
  /** Top-level `model`, decoded; null = missing. */
  model: string | null
  /** False: there is a `model`, and it is no string, or too long to be a name. */
  modelIsString: boolean
  /** The value of the `model` member, quotes included. */
  modelSpan: Span | null
  /** The places in which the body names the model of the path again, where all of them are to be replaced together. */
  repeatedModels: readonly Span[]
  stream: boolean
  /** The largest number of output tokens that the body names, whatever the name; null = none. 0 to 10^9.
   * With what the body predicts, which is billed beside it where it does not come. */
  maxOutput: number | null
  /** Under which names the body names a maximum: it counts only where the upstream reads one of them. */
  maxima: Maxima
  /** `thinking_budget`: output tokens that may be thought beside the maximum, where the upstream reads it; 0 = none is named. */
  thinkingBudget: number
  /** How hard the model is asked to think. */
  effort: AskedEffort
  /** How many answers are wanted; 1 to 10^6. */
  n: number
  /** `stream_options.include_usage === true`. */
  includeUsage: boolean
  streamOptions: StreamOptions | null
  background: boolean
  /** The longest life of a cache entry that the body asks for; null = it asks for none. */
  cacheTtl: '5m' | '1h' | null
  /** `prompt_cache_key`, `metadata.user_id`: which conversation this is. */
  promptCacheKey: string | null
  userId: string | null
  /** `previous_response_id`: the earlier answer that this request continues; null = none. */
  previousAnswer: string | null
  /** What the input is made of. */
  prompt: Prompt
  /** Tools of the upstream that make pictures, and how often all its tools may be used together; null = not said. */
  drawingTools: number
  maxToolCalls: number | null
  /** Tools that are not free. */
  tools: readonly AskedTool[]
  /** Units of search that the request comes to at most; 1 = it is no rerank request. */
  units: number
  /** Searches of the web that the upstream may make, and uses of its other tools. */
  searches: ToolUses
  otherUses: ToolUses
  /** Searches that are left out of the body, because they are only offered and have no price; null = none are. */
  leftOut: readonly AskedTool[] | null
  /** Members of the body that may be left out with them, and whether its list of tools keeps others. */
  removable: readonly Removable[]
  keepsTools: boolean
  /** Whether the answer may hold sound, and pictures. */
  answersSound: boolean
  answersPictures: boolean
  /** Passes by other models in the course of the answer. */
  advisors: readonly Advisor[]
  /** Code points of text that is to be spoken. */
  characters: number
  /** The most seconds that speaking this text takes. */
  spokenS: number
  /** Seconds of sound in files that are to be written down. */
  uploadS: number
  /** The most that this sound can last, whatever its files say. */
  mostUploadS: number
  /** Bytes of a second of the answer, where plain samples are asked for; null = they are not. */
  soundBytesPerS: number | null
  /** Names of models beside the request's own. */
  otherModels: readonly string[]
  /** A field that is refused: two readers could take it differently, or it names what we do not offer. */
  invalid: string | null
  /** The names of tier, speed and place that are asked for. */
  tiers: TierNames
  /** The size and the quality of the pictures that are asked for; where tools ask for different ones, neither is said. */
  picture: PictureKind
  /** Whether the request asks for pictures as base64 in the answer. */
  encodedPictures: boolean
  /** Just after the opening brace. */
  openedAt: number
}

const MOST_N = 1e6
/** Pictures of a sequence whose length is not said. */
const LONGEST_SEQUENCE = 15
const LEAST_SPOKEN_S = 10

/**
 * The facts of a whole body, from what its scan has written down. `openedAt`: see `Facts`; 0 where bodies have no braces.
 */
export function factsOf(draft: Draft, bodyBytes: number, openedAt: number): Facts {
  const uses = usesOf(draft)
  return {
    model: draft.model,
    modelIsString: draft.modelIsString,
    modelSpan: draft.modelSpan,
    repeatedModels: draft.repeatedModels,
    stream: draft.stream,
    maxOutput: withPredicted(draft),
    maxima: draft.maxima,
    thinkingBudget: draft.thinkingBudget,
    effort: draft.effort,
    n: Math.min(MOST_N, Math.max(draft.n, draft.sequence ? (draft.sequenceLimit ?? LONGEST_SEQUENCE) : 1)),
    includeUsage: draft.includeUsage,
    streamOptions: draft.streamOptions,
    background: draft.background,
    cacheTtl: draft.cacheTtl,
    promptCacheKey: draft.promptCacheKey,
    userId: draft.userId,
    previousAnswer: draft.previousAnswer,
    prompt: promptOf(draft, bodyBytes, uses.all),
    drawingTools: draft.drawingTools,
    maxToolCalls: draft.maxToolCalls,
    tools: draft.tools,
    units: draft.units?.most ?? 1,
    searches: uses.searches,
    otherUses: uses.others,
    leftOut: null,
    removable: draft.removable,
    keepsTools: draft.keepsTools,
    answersSound: draft.sound ?? true,
    answersPictures: draft.pictures ?? true,
    advisors: draft.advisors,
    characters: draft.characters,
    spokenS: spokenS(draft),
    uploadS: wholeSeconds(draft.uploadS),
    mostUploadS: Math.ceil(draft.uploadBytes / DENSEST_BYTES_PER_S),
    soundBytesPerS: draft.soundBytesPerS,
    otherModels: draft.otherModels,
    invalid: draft.invalid,
    tiers: draft.tiers,
    picture: draft.picture ?? UNSAID,
    encodedPictures: draft.encodedPictures,
    openedAt,
  }
}

/** What is predicted and does not come is billed beside the maximum. A token has at least a byte. */
const withPredicted = ({ maximum, predictedBytes }: Draft): number | null =>
  maximum === null ? null : Math.min(MOST_TOKENS, maximum + predictedBytes)

/** Nothing is spoken slower than a character in a second; but the shortest text has a silence before and behind it. */
const spokenS = ({ characters, pace }: Draft): number =>
  characters === 0 ? 0 : Math.ceil(Math.max(LEAST_SPOKEN_S, characters) / pace)

function promptOf(draft: Draft, bodyBytes: number, { uses, unlimited }: ToolUses): Prompt {
  const { prompt, mediaBytes, repeatedBytes, previousAnswer } = draft
  prompt.textBytes = bodyBytes - mediaBytes + repeatedBytes
  if (previousAnswer !== null) prompt.remoteDocuments++
  prompt.toolUses = uses
  prompt.unlimitedTools = unlimited
  return prompt
}

/** The same request without its searches, which are left out of the body. */
export function withoutSearches(facts: Facts): Facts {
  const tools = facts.tools.filter(({ cost }) => cost !== 'web_search')
  const leftOut = facts.tools.filter(({ cost }) => cost === 'web_search')
  const prompt = withUses(facts.prompt, facts.otherUses)
  return { ...facts, tools, leftOut, prompt, searches: { uses: 0, unlimited: 0 } }
}
