/** Answers of upstreams of the messages protocol: their events, or the one document. */
import { decode } from '../../protocols/json/text.ts'
import { answerReaderOf, AnswerRules, MOST_BLOCKS } from '../answer-reader.ts'
import { untellable, type AnswerReader, type Citation, type ReaderOptions } from '../events.ts'
import { failureIn } from '../failure.ts'
import { charsOf, sourcesIn } from '../search-results.ts'
import { EMPTY_TEXT, join, type Literal, quote, unquote } from '../json/literal.ts'
import { type Node, Tree } from '../json/tree.ts'
import { SEARCH_NAME } from '../search.ts'

/** Where each kind of delta has its text. */
const DELTAS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
}

export const messagesAnswerReader = (options: ReaderOptions): AnswerReader =>
  answerReaderOf(own => new Rules(own), options)

const MOST_NOTES = 1000
const MOST_PIECES = 4096

/** What the input of a search says, which came in pieces. */
function queryIn(pieces: readonly Literal[]): Literal | null {
  const tree = new Tree()
  return pieces.length > 0 && tree.read(unquote(join(pieces))) ? tree.literal(tree.root, 'query') : null
}

/** A block between its start and its stop. */
interface Open {
  type: 'text' | 'thought' | 'call' | 'search' | 'other'
  /** The block of a call. */
  index: number
  /** The input that stood in the start of a call, for upstreams that send no deltas. */
  input: Literal
  signature: Literal | null
  /** Where a text begins, in characters of all texts, and what it cites. */
  start: number
  notes: Citation[]
  /** The id of a search, and its input in pieces. */
  id: string
  pieces: Literal[]
}

const NOTHING = { type: 'other', index: -1, input: EMPTY_TEXT, signature: null, start: 0, id: '' } as const

class Rules extends AnswerRules {
  /** The open blocks, by the upstream's own index. */
  readonly #open = new Map<number, Open>()
  /** What was searched for, by the id of the search. */
  readonly #queries = new Map<string, Literal>()
  /** Characters of text so far, where that matters. */
  #chars = 0

  event(name: string, tree: Tree): void {
    switch (tree.string(tree.root, 'type') ?? name) {
      case 'message_start':
        this.#start(tree, tree.get(tree.root, 'message'))
        return
      case 'content_block_start':
        this.#blockStart(tree, this.#index(tree), tree.get(tree.root, 'content_block'))
        return
      case 'content_block_delta':
        this.#delta(tree, this.#open.get(this.#index(tree)), tree.get(tree.root, 'delta'))
        return
      case 'content_block_stop':
        this.#blockStop(this.#index(tree))
        return
      case 'message_delta':
        this.#stop(tree, tree.get(tree.root, 'delta'))
        this.#usage(tree, tree.root)
        return
      case 'message_stop':
        for (const index of this.#open.keys()) this.#blockStop(index)
        this.blocks.finish()
        return
      case 'error':
        this.blocks.fail(failureIn(tree, tree.root))
    }
  }

  document(tree: Tree): void {
    const { root } = tree
    if (tree.string(root, 'type') !== 'message' && tree.kind(root, 'content') !== 'array') {
      this.blocks.fail(failureIn(tree, root))
      return
    }
    this.#start(tree, root)
    tree.elements(root, 'content').forEach((block, index) => {
      this.#blockStart(tree, index, block)
      const open = this.#open.get(index)
      const signature = tree.literal(block, 'signature')
      if (open !== undefined && signature !== null) open.signature = signature
      this.#blockStop(index)
    })
    this.#stop(tree, root)
    this.#usage(tree, root)
    this.blocks.finishDocument()
  }

  #index(tree: Tree): number {
    return tree.number(tree.root, 'index') ?? 0
  }

  #start(tree: Tree, message: Node): void {
    this.begin(tree, message)
    this.#usage(tree, message)
  }

  #usage(tree: Tree, node: Node): void {
    const details = tree.get(tree.get(node, 'usage'), 'output_tokens_details')
    this.blocks.thinking(tree.number(details, 'thinking_tokens'))
  }

  #blockStart(tree: Tree, index: number, block: Node): void {
    this.#blockStop(index)
    const open: Open = { ...NOTHING, notes: [], pieces: [] }
    const text = (name: string): Literal => tree.literal(block, name) ?? EMPTY_TEXT
    switch (tree.string(block, 'type')) {
      case 'text':
        open.type = 'text'
        open.start = this.#chars
        if (!this.blocks.searches.isAsked) this.blocks.closeText()
        this.#text(text('text'))
        for (const note of tree.elements(block, 'citations')) this.#note(tree, open, note)
        break
      case 'thinking':
        open.type = 'thought'
        this.blocks.closeText()
        this.blocks.text('thought', text('thinking'))
        break
      case 'redacted_thinking':
        this.blocks.closeText()
        this.blocks.seal('thought', 'hidden', text('data'))
        break
      case 'tool_use':
        this.#call(tree, block, open)
        break
      case 'server_tool_use':
        this.#search(tree, block, open)
        break
      case 'web_search_tool_result':
        this.#found(tree, block)
    }
    this.#open.set(index, open)
    if (this.#open.size > MOST_BLOCKS) this.blocks.fail(untellable('the answer has too many open blocks'))
  }

  #call(tree: Tree, block: Node, open: Open): void {
    const text = (name: string): string => tree.string(block, name) ?? ''
    const input = tree.get(block, 'input')
    open.type = 'call'
    open.index = this.blocks.call(text('id'), text('name'))
    if (tree.kind(input) === 'object' && !/^\{\s*\}$/.test(tree.source(input))) open.input = quote(tree.source(input))
  }

  /** A text that cites is a block of its own. */
  #note(tree: Tree, open: Open, note: Node): void {
    const url = tree.literal(note, 'url')
    if (tree.string(note, 'type') !== 'web_search_result_location' || url === null || open.notes.length === MOST_NOTES)
      return
    const read = (name: string): Literal => tree.literal(note, name) ?? EMPTY_TEXT
    open.notes.push({ url, title: read('title'), cited: read('cited_text'), start: '0', end: '0', at: 'answer' })
  }

  #search(tree: Tree, block: Node, open: Open): void {
    if (tree.string(block, 'name') !== SEARCH_NAME) return
    open.type = 'search'
    this.blocks.closeText()
    open.id = tree.string(block, 'id') ?? ''
    this.#query(tree.literal(tree.get(block, 'input'), 'query'), open)
  }

  #query(query: Literal | null, { id }: Open): void {
    if (query !== null && this.#queries.size < MOST_BLOCKS) this.#queries.set(id, query)
  }

  #found(tree: Tree, block: Node): void {
    const content = tree.get(block, 'content')
    const id = tree.string(block, 'tool_use_id') ?? ''
    const query = this.#queries.get(id)
    const sources = sourcesIn(tree, content, { age: 'page_age' })
    const found = this.blocks.searches.whole(
      query === undefined ? [] : [query],
      sources,
      tree.kind(content) === 'object',
    )
    this.blocks.searched(found)
  }

  #delta(tree: Tree, open: Open | undefined, delta: Node): void {
    if (open === undefined) return
    const type = tree.string(delta, 'type') ?? ''
    if (type === 'citations_delta') this.#note(tree, open, tree.get(delta, 'citation'))
    if (!Object.hasOwn(DELTAS, type)) return
    const node = tree.get(delta, DELTAS[type] as string)
    const text = tree.literal(node) ?? EMPTY_TEXT
    switch (type) {
      case 'text_delta':
        this.#text(text, node)
        return
      case 'thinking_delta':
        this.blocks.text('thought', text, node)
        return
      case 'signature_delta':
        open.signature = text
        return
      case 'input_json_delta':
        if (open.type === 'search') {
          this.blocks.found.keeps()
          if (open.pieces.length < MOST_PIECES) open.pieces.push(text)
          return
        }
        if (text !== EMPTY_TEXT) open.input = EMPTY_TEXT
        this.blocks.args(open.index, text, node)
    }
  }

  #blockStop(index: number): void {
    const open = this.#open.get(index)
    if (open === undefined) return
    this.#open.delete(index)
    if (open.type === 'text') this.#endText(open)
    else if (open.type === 'search') this.#query(queryIn(open.pieces), open)
    else if (open.type === 'thought') {
      if (open.signature === null) this.blocks.closeText()
      else this.blocks.seal('thought', 'signed', open.signature)
    } else if (open.type === 'call') {
      this.blocks.args(open.index, open.input)
      this.blocks.closeCall(open.index)
    }
  }

  /** Where there are searches, each sentence that cites is a block of its own: together they are one text. */
  #endText({ start, notes }: Open): void {
    for (const note of notes) this.blocks.note({ ...note, start: String(start), end: String(this.#chars) })
    if (!this.blocks.searches.isAsked) this.blocks.closeText()
  }

  #text(text: Literal, source?: Node): void {
    if (this.blocks.searches.isAsked) {
      this.blocks.found.keeps()
      this.#chars += charsOf(decode(text) ?? '')
    }
    this.blocks.text('text', text, source)
  }

  #stop(tree: Tree, node: Node): void {
    const reason = tree.string(node, 'stop_reason')
    if (reason === null) return
    this.blocks.stopped('messages', reason)
    this.blocks.sequence = tree.literal(node, 'stop_sequence')
  }
}
