/** Answers of upstreams that speak generate-content: their events, the one document, or all events as one array. */
import { answerReaderOf, AnswerRules } from '../answer-reader.ts'
import { unreadable, stopReasonOf, type AnswerReader, type ReaderOptions } from '../events.ts'
import { failureIn } from '../failure.ts'
import { EMPTY_TEXT, type Literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'
import { get, literalAt, stringAt } from './members.ts'

/** What the client is told where the upstream does not say more. */
const BLOCKED: Literal = '"The prompt was blocked by the provider."'

export const generateAnswerReader = (options: ReaderOptions): AnswerReader =>
  answerReaderOf(new Rules(options, options.issuer), options.events)

class Rules extends AnswerRules {
  readonly #issuer: string
  #sawContent = false
  /** The upstream's word for a reason that may be a failure. */
  #word = ''

  constructor(options: ReaderOptions, issuer: string) {
    super(options)
    this.#issuer = issuer
  }

  event(_name: string, tree: Tree): void {
    this.#chunk(tree, tree.root)
  }

  /** Chunks may follow the one that says why the answer ended. */
  override ended(): void {
    if (this.blocks.reason === null) this.blocks.fail(unreadable('the answer ended before its end'))
    else this.#finish()
  }

  document(tree: Tree): void {
    if (tree.kind(tree.root) === 'array') {
      for (const chunk of tree.elements(tree.root)) this.#chunk(tree, chunk)
      this.ended()
      return
    }
    this.#chunk(tree, tree.root)
    const isAnswer = tree.kind(get(tree, tree.root, 'candidates')) === 'array' || this.blocks.reason !== null
    if (isAnswer) this.#finish()
    else this.blocks.fail(unreadable('the answer has no candidates'))
  }

  #finish(): void {
    // calls that the upstream could not read are told by a text, or not at all
    if (this.blocks.reason === 'malformed' && !this.#sawContent)
      this.blocks.fail(unreadable(`the upstream stopped: ${this.#word}`))
    else this.blocks.finish()
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
      if ((tree.number(candidate, 'index') ?? 0) !== 0) continue
      const content = tree.get(candidate, 'content')
      for (const part of tree.elements(content, 'parts')) this.#part(tree, part)
      this.#reason(stringAt(tree, candidate, 'finishReason'))
    }
  }

  #blocked(tree: Tree, feedback: Node): void {
    if (stringAt(tree, feedback, 'blockReason') === null) return
    const told = literalAt(tree, feedback, 'blockReasonMessage')
    this.blocks.text('refusal', told === null || told === EMPTY_TEXT ? BLOCKED : told)
    this.blocks.reason = 'refusal'
  }

  #reason(word: string | null): void {
    if (word === null || word === '') return
    this.#word = word.slice(0, 100)
    this.blocks.reason = stopReasonOf('generate', word)
  }

  #part(tree: Tree, part: Node): void {
    const state = literalAt(tree, part, 'thoughtSignature') ?? EMPTY_TEXT
    const call = get(tree, part, 'functionCall')
    const blob = get(tree, part, 'inlineData')
    if (tree.kind(call) === 'object') this.#call(tree, call, state)
    else if (tree.kind(blob) === 'object')
      this.blocks.media(stringAt(tree, blob, 'mimeType') ?? 'image/png', literalAt(tree, blob, 'data') ?? EMPTY_TEXT)
    else this.#text(tree, part, state)
  }

  /** State may come with the last piece of a text, or behind it with none. */
  #text(tree: Tree, part: Node, state: Literal): void {
    const node = get(tree, part, 'text')
    const text = tree.literal(node) ?? EMPTY_TEXT
    const isThought = tree.boolean(part, 'thought') === true
    this.blocks.text(isThought ? 'thought' : 'text', text, node)
    this.#sawContent ||= !isThought && text !== EMPTY_TEXT
    if (state !== EMPTY_TEXT) this.blocks.seal(isThought ? 'thought' : 'text', isThought ? 'signed' : 'text', state)
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
    this.#sawContent = true
  }
}
