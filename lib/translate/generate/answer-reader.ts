/** Answers of upstreams that speak generate-content: their events, the one document, or all events as one array. */
import { AnswerRules, answerReaderOf } from '../answer-reader.ts'
import {
  type AnswerReader,
  type LikelyToken,
  type Logprobs,
  NO_LOGPROBS,
  type ReaderOptions,
  unreadable,
} from '../events.ts'
import { failureIn } from '../failure.ts'
import { sourceIn } from '../search-results.ts'
import { EMPTY_TEXT, type Literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { bytesOf } from '../logprobs.ts'
import { get, literalAt, stringAt } from './members.ts'

const MOST_CITED = 1000
const OWN_TOOLS = ['toolCall', 'toolResponse']

/** What the client is told where the upstream does not say more. */
const BLOCKED: Literal = '"The prompt was blocked by the provider."'

export const generateAnswerReader = (options: ReaderOptions): AnswerReader =>
  answerReaderOf((own, answer) => new Rules(own, answer), options)

/** The part is a text that is no thought. */
const isSaid = (tree: Tree, part: Node): boolean =>
  tree.kind(get(tree, part, 'text')) === 'string' && tree.boolean(part, 'thought') !== true

class Rules extends AnswerRules {
  readonly #issuer: string
  /** State that came with the last part. */
  #state: { of: 'signed' | 'text'; value: Literal } | null = null
  readonly #cited = new Set<string>()

  constructor(options: ReaderOptions, answer: number) {
    super(options, answer)
    this.#issuer = options.issuer
  }

  event(_name: string, tree: Tree): void {
    this.#chunk(tree, tree.root)
  }

  /** Chunks may follow the one that says why the answer ended. */
  override ended(): void {
    if (this.blocks.reason === null) this.blocks.fail(unreadable('the answer ended before its end'))
    else this.blocks.finish()
  }

  document(tree: Tree): void {
    if (tree.kind(tree.root) === 'array') {
      for (const chunk of tree.elements(tree.root)) this.#chunk(tree, chunk)
      this.ended()
      return
    }
    this.#chunk(tree, tree.root)
    const isAnswer = tree.kind(get(tree, tree.root, 'candidates')) === 'array' || this.blocks.reason !== null
    if (!this.isGiven) return
    if (isAnswer) this.blocks.finishDocument()
    else this.blocks.fail(unreadable('the answer has no candidates'))
  }

  #chunk(tree: Tree, chunk: Node): void {
    const error = tree.get(chunk, 'error')
    if (!tree.absent(error)) {
      this.blocks.fail(failureIn(tree, chunk))
      return
    }
    this.blocks.begin(stringAt(tree, chunk, 'responseId') ?? '', stringAt(tree, chunk, 'modelVersion') ?? '')
    this.blocks.thinking(tree.number(get(tree, get(tree, chunk, 'usageMetadata'), 'thoughtsTokenCount')))
    this.#blocked(tree, get(tree, chunk, 'promptFeedback'))
    for (const candidate of tree.elements(get(tree, chunk, 'candidates'))) {
      if (!this.isOwn(tree.number(candidate, 'index'))) continue
      const content = tree.get(candidate, 'content')
      const parts = tree.elements(content, 'parts')
      const tokens = candidateLogprobsIn(tree, get(tree, candidate, 'logprobsResult'))
      const said = tokens.length === 0 ? -1 : parts.findLastIndex(part => isSaid(tree, part))
      parts.forEach((part, place) => {
        this.#seal()
        this.#part(tree, part, place === said ? tokens : NO_LOGPROBS)
      })
      if (this.blocks.searches.isAsked) this.#grounded(tree, get(tree, candidate, 'groundingMetadata'))
      this.#seal()
      this.blocks.stopped('generate', stringAt(tree, candidate, 'finishReason'))
    }
  }

  /** What was found stands with the last chunk, and some upstreams repeat it in several. */
  #grounded(tree: Tree, metadata: Node): void {
    const { searches } = this.blocks
    for (const query of tree.elements(get(tree, metadata, 'webSearchQueries'))) searches.saw(tree.literal(query))
    const chunks = tree.elements(get(tree, metadata, 'groundingChunks'))
    const sources = chunks.map(chunk => sourceIn(tree, tree.get(chunk, 'web'), { url: 'uri' }))
    for (const source of sources) if (source !== null) searches.add(source)
    for (const support of tree.elements(get(tree, metadata, 'groundingSupports'))) {
      const segment = tree.get(support, 'segment')
      const start = String(tree.number(get(tree, segment, 'startIndex')) ?? 0)
      const end = String(tree.number(get(tree, segment, 'endIndex')) ?? 0)
      for (const place of tree.elements(get(tree, support, 'groundingChunkIndices'))) {
        const source = sources[tree.number(place) ?? -1]
        if (source !== null && source !== undefined && this.#isNew(`${start} ${end} ${source.url}`))
          this.blocks.note({ url: source.url, title: source.title, start, end, at: 'bytes' })
      }
    }
  }

  #isNew(citation: string): boolean {
    const { size } = this.#cited
    return size < MOST_CITED && this.#cited.add(citation).size > size
  }

  /** State of a text ends it, and what it cites stands behind the state. */
  #seal(): void {
    const state = this.#state
    this.#state = null
    if (state !== null) this.blocks.seal(state.of === 'text' ? 'text' : 'thought', state.of, state.value)
  }

  #blocked(tree: Tree, feedback: Node): void {
    if (stringAt(tree, feedback, 'blockReason') === null) return
    const told = literalAt(tree, feedback, 'blockReasonMessage')
    this.blocks.text('refusal', told === null || told === EMPTY_TEXT ? BLOCKED : told)
    this.blocks.reason = 'refusal'
  }

  #part(tree: Tree, part: Node, tokens: Logprobs): void {
    const state = literalAt(tree, part, 'thoughtSignature') ?? EMPTY_TEXT
    const call = get(tree, part, 'functionCall')
    const blob = get(tree, part, 'inlineData')
    // what the upstream asks of its own tools, and what these say, is shown only by upstreams that are asked for it
    if (OWN_TOOLS.some(name => tree.kind(get(tree, part, name)) === 'object')) return
    if (tree.kind(call) === 'object') this.#call(tree, call, state)
    else if (tree.kind(blob) === 'object')
      this.blocks.media(stringAt(tree, blob, 'mimeType') ?? 'image/png', literalAt(tree, blob, 'data') ?? EMPTY_TEXT)
    else this.#text(tree, part, state, tokens)
  }

  /** State may come with the last piece of a text, or behind it with none. */
  #text(tree: Tree, part: Node, state: Literal, tokens: Logprobs): void {
    const node = get(tree, part, 'text')
    const text = tree.literal(node) ?? EMPTY_TEXT
    const isThought = tree.boolean(part, 'thought') === true
    this.blocks.text(isThought ? 'thought' : 'text', text, node, tokens)
    if (state !== EMPTY_TEXT) this.#state = { of: isThought ? 'signed' : 'text', value: state }
  }

  /** A call comes whole. */
  #call(tree: Tree, call: Node, value: Literal): void {
    const opaque = value === EMPTY_TEXT ? undefined : ({ issuer: this.#issuer, of: 'call', value } as const)
    const args = tree.get(call, 'args')
    const name = stringAt(tree, call, 'name') ?? ''
    if (name === '') {
      this.blocks.fail(unreadable('a call of the answer has no name'))
      return
    }
    const block = this.blocks.call(stringAt(tree, call, 'id') ?? '', name, opaque)
    // an upstream that is a translator itself may send the arguments as text
    this.blocks.args(block, tree.literal(args) ?? quote(tree.absent(args) ? '{}' : tree.source(args)))
    this.blocks.closeCall(block)
  }
}

// --- how likely the tokens were

/** A number that is 0 may be left out. */
function candidateIn(tree: Tree, node: Node): LikelyToken {
  const token = literalAt(tree, node, 'token') ?? EMPTY_TEXT
  const number = get(tree, node, 'logProbability')
  return { token, logprob: tree.number(number) === null ? '0' : tree.source(number), bytes: bytesOf(token) }
}

/** `result`: the member `logprobsResult` of a candidate. */
function candidateLogprobsIn(tree: Tree, result: Node): Logprobs {
  const tops = tree.elements(get(tree, result, 'topCandidates'))
  return tree.elements(get(tree, result, 'chosenCandidates')).map((chosen, place) => {
    const top = tops[place]
    const others = top === undefined ? [] : tree.elements(top, 'candidates')
    return { ...candidateIn(tree, chosen), top: others.map(one => candidateIn(tree, one)) }
  })
}
