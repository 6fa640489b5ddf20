/** Answers of upstreams that speak chat completions: their chunks, or the one document. */
import { AnswerRules, answerReaderOf, type Blocks, MOST_BLOCKS } from '../answer-reader.ts'
import { type AnswerReader, type Logprobs, NO_LOGPROBS, type ReaderOptions, unreadable, untellable } from '../events.ts'
import { failureIn } from '../failure.ts'
import { sourcesIn } from '../search-results.ts'
import { ObjectCheck } from '../json/check.ts'
import { EMPTY_TEXT, type Literal, quote } from '../json/literal.ts'
import { NONE, type Node, type Tree } from '../json/tree.ts'
import { logprobsIn } from '../logprobs.ts'
import { citationOf, dataUrl } from '../openai.ts'

/** Where providers have what was found: the member of the body, and the members of each source. */
const FOUND = {
  web_search: { url: 'link', text: 'content', age: 'publish_date' },
  search_results: { text: 'snippet', age: 'date' },
}

export const chatAnswerReader = (options: ReaderOptions): AnswerReader =>
  answerReaderOf((own, answer) => new Rules(own, answer), options)

class Rules extends AnswerRules {
  readonly #calls: CallReader

  constructor(options: ReaderOptions, answer: number) {
    super(options, answer)
    this.#calls = new CallReader(this.blocks)
  }

  event(_name: string, tree: Tree): void {
    if (this.#failed(tree)) return
    this.#chunk(tree, 'delta')
  }

  override words(text: string): boolean {
    if (text.trim() !== '[DONE]') return false
    this.#calls.end()
    this.blocks.finish()
    return true
  }

  document(tree: Tree): void {
    if (this.#failed(tree)) return
    if (tree.kind(tree.root, 'choices') !== 'array') {
      this.blocks.fail(unreadable('the answer has no choices'))
      return
    }
    this.#chunk(tree, 'message')
    if (!this.isGiven) return
    this.#calls.end()
    this.blocks.finishDocument()
  }

  #failed(tree: Tree): boolean {
    const error = tree.get(tree.root, 'error')
    if (tree.absent(error) || tree.source(error) === '""') return false
    this.blocks.fail(failureIn(tree, tree.root))
    return true
  }

  #chunk(tree: Tree, member: 'delta' | 'message'): void {
    if (!this.blocks.began) this.begin(tree, tree.root)
    const usage = tree.get(tree.root, 'usage')
    const details = tree.get(usage, 'completion_tokens_details')
    if (this.blocks.searches.isAsked) this.#searched(tree, usage)
    this.blocks.thinking(tree.number(details, 'reasoning_tokens'))
    for (const choice of tree.elements(tree.root, 'choices')) {
      if (!this.isOwn(tree.number(choice, 'index'))) continue
      const tokens = logprobsIn(tree, tree.get(tree.get(choice, 'logprobs'), 'content'))
      this.#message(tree, tree.get(choice, member), tokens)
      this.blocks.stopped('chat', tree.string(choice, 'finish_reason'))
    }
  }

  /** Some upstreams tell beside the choices what they found, and some only that they searched. */
  #searched(tree: Tree, usage: Node): void {
    const { searches } = this.blocks
    for (const [member, names] of Object.entries(FOUND))
      for (const source of sourcesIn(tree, tree.get(tree.root, member), names)) searches.add(source)
    const counts = [
      tree.number(usage, 'num_search_queries'),
      tree.number(tree.get(usage, 'server_tool_use'), 'web_search_requests'),
      tree.number(tree.get(tree.get(usage, 'plugins'), 'search'), 'count'),
    ]
    if (counts.some(count => (count ?? 0) > 0)) searches.saw()
  }

  #message(tree: Tree, message: Node, tokens: Logprobs): void {
    this.#thought(tree, message)
    this.#content(tree, tree.get(message, 'content'), tokens)
    this.#text(tree, 'refusal', tree.get(message, 'refusal'))
    for (const image of tree.elements(message, 'images')) this.#image(tree, image)
    for (const note of tree.elements(message, 'annotations')) this.blocks.note(citationOf(tree, note, 'answer'))
    this.#calls.read(tree, tree.get(message, 'tool_calls'))
    this.#calls.readLegacy(tree, tree.get(message, 'function_call'))
  }

  /** Vendors have several names for it, and some send it under two of them. */
  #thought(tree: Tree, message: Node): void {
    for (const name of ['reasoning_content', 'reasoning'])
      if (this.#text(tree, 'thought', tree.get(message, name))) return
    for (const detail of tree.elements(message, 'reasoning_details'))
      if (!this.#text(tree, 'thought', tree.get(detail, 'text')))
        this.#text(tree, 'thought', tree.get(detail, 'summary'))
  }

  /** A text, or parts of which some may be thoughts. */
  #content(tree: Tree, content: Node, tokens: Logprobs): void {
    this.#text(tree, 'text', content, tokens)
    for (const part of tree.elements(content)) {
      this.#text(tree, 'text', tree.get(part, 'text'))
      for (const thought of tree.elements(part, 'thinking')) this.#text(tree, 'thought', tree.get(thought, 'text'))
    }
  }

  /** A picture that the model has drawn. Nothing is fetched from an address. */
  #image(tree: Tree, image: Node): void {
    const url = tree.literal(tree.get(image, 'image_url'), 'url')
    const inside = url === null ? null : dataUrl(url)
    if (inside !== null) this.blocks.media(inside.mime, inside.base64)
  }

  /** False: it is no text. */
  #text(tree: Tree, kind: 'text' | 'thought' | 'refusal', node: Node, tokens = NO_LOGPROBS): boolean {
    const text = tree.literal(node)
    if (text !== null) this.blocks.text(kind, text, node, tokens)
    return text !== null
  }
}

/** The most bytes of arguments, of all calls, that may come before the names of their tools. */
const MOST_EARLY = 64 * 1024

interface Call {
  id: string
  /** Index of the block; -1 = the name has not come. */
  block: number
  /** Arguments that came before the name. */
  early: Literal[]
  /** The arguments have begun. */
  hasArgs: boolean
  /** Where calls cannot be told apart otherwise: whether its arguments are whole. */
  check: ObjectCheck | null
}

/**
 * Calls in the chunks of chat completions. Their pieces may be mixed, and upstreams differ in what they say of a piece: a call is
 * known by its index, else by its id. A piece that has neither goes on with the last call; of several in one chunk, each with the call at
 * its place.
 */
class CallReader {
  readonly #blocks: Blocks
  readonly #calls = new Map<string, Call>()
  #last: Call | null = null
  /** All calls, as they began. */
  readonly #order: Call[] = []
  #earlyBytes = 0

  constructor(blocks: Blocks) {
    this.#blocks = blocks
  }

  read(tree: Tree, list: Node): void {
    const elements = tree.elements(list)
    const isBare = (one: Node): boolean => tree.absent(one, 'index') && tree.absent(one, 'id')
    const arePlaced = elements.length > 1 && elements.every(isBare)
    elements.forEach((element, place) => {
      const custom = tree.get(element, 'custom')
      const inner = tree.kind(custom) === 'object' ? custom : tree.get(element, 'function')
      const call = this.#callOf(tree, element, inner, arePlaced ? elements.length - place : 0)
      this.#piece(tree, call, inner, custom === inner ? 'input' : 'arguments')
    })
  }

  /** The form of calls before there could be several. */
  readLegacy(tree: Tree, inner: Node): void {
    if (tree.kind(inner) === 'object') this.#piece(tree, this.#known('legacy', ''), inner, 'arguments')
  }

  /** The answer is whole. Calls whose tool was never named are none. */
  end(): void {
    this.#blocks.closeCalls()
  }

  /** `fromEnd`: the place among the calls where its place says which it is, 1 = the last; 0 = it does not. */
  #callOf(tree: Tree, element: Node, inner: Node, fromEnd: number): Call {
    const index = tree.number(element, 'index')
    const id = tree.string(element, 'id') ?? ''
    const name = tree.string(inner, 'name') ?? ''
    if (index !== null) {
      const call = this.#known(`at ${index}`, id)
      // some upstreams give all their calls the same index
      const another = id !== '' && call.id !== '' && call.id !== id && name !== ''
      if (!another) return call
      this.#blocks.found.keeps()
      return this.#known(`at ${index} ${id}`, id, `at ${index}`)
    }
    if (id !== '') return this.#known(`id ${id}`, id)
    this.#blocks.found.keeps()
    const last = (name === '' && fromEnd > 0 ? this.#order.at(-fromEnd) : null) ?? this.#last
    const isNext = last === null || (name !== '' && last.hasArgs && last.check?.whole !== false)
    return isNext ? this.#known(`no ${this.#calls.size}`, '') : last
  }

  /** `also`: another key under which the call is known from now on. */
  #known(key: string, id: string, also?: string): Call {
    let call = this.#calls.get(key)
    if (call === undefined) {
      const check = key.startsWith('no ') ? new ObjectCheck() : null
      call = { id, block: -1, early: [], hasArgs: false, check }
      this.#calls.set(key, call)
      this.#order.push(call)
      if (this.#calls.size > 2 * MOST_BLOCKS) this.#blocks.fail(untellable('the answer has too many calls'))
    }
    if (also !== undefined) this.#calls.set(also, call)
    if (call.id === '') call.id = id
    this.#last = call
    return call
  }

  #piece(tree: Tree, call: Call, inner: Node, member: string): void {
    const name = tree.string(inner, 'name') ?? ''
    const value = tree.get(inner, member)
    if (call.block < 0 && name !== '') this.#open(call, name)
    if (tree.absent(value)) return
    const isText = tree.kind(value) === 'string'
    const args = isText ? tree.source(value) : quote(tree.source(value))
    if (args === EMPTY_TEXT) return
    call.hasArgs = true
    call.check?.feed(args)
    if (call.block >= 0) this.#blocks.args(call.block, args, isText ? value : NONE)
    else this.#early(call, args)
  }

  #open(call: Call, name: string): void {
    call.block = this.#blocks.call(call.id, name)
    for (const args of call.early) this.#blocks.args(call.block, args)
    call.early = []
  }

  #early(call: Call, args: Literal): void {
    this.#blocks.found.keeps()
    this.#earlyBytes += args.length
    call.early.push(args)
    if (this.#earlyBytes > MOST_EARLY) this.#blocks.fail(unreadable('the calls of the answer have no names'))
  }
}
