/**
 * Answers of upstreams of the responses protocol: their events, or the one document. Upstreams say everything several
 * times: in deltas, at the end of a text, at the end of its item and in the last event. What came once is not told again.
 */
import { AnswerRules, answerReaderOf, MOST_BLOCKS } from '../answer-reader.ts'
import { type AnswerReader, NO_LOGPROBS, type ReaderOptions, unreadable, untellable } from '../events.ts'
import { failureIn } from '../failure.ts'
import { sourcesIn } from '../search-results.ts'
import { EMPTY_TEXT, type Literal, literal, quote } from '../json/literal.ts'
import { NONE, type Node, type Tree } from '../json/tree.ts'
import { logprobsIn } from '../logprobs.ts'
import { citationOf } from '../openai.ts'

export const responsesAnswerReader = (options: ReaderOptions): AnswerReader =>
  answerReaderOf(own => new Rules(own), options)

type Kind = 'text' | 'refusal' | 'thought'

interface Item {
  /** The block of a call; -1 = it has not been opened, or is none. */
  block: number
  /** The parts of which something has been told. */
  told: Set<string>
  done: boolean
}

/** Where the events have the whole text that come at its end. */
const WHOLE: Readonly<Record<string, string>> = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning_summary_text: 'text',
  reasoning_text: 'text',
  function_call_arguments: 'arguments',
  custom_tool_call_input: 'input',
}
/** Between the parts of a thought. */
const BLANK_LINE = literal('\n\n')
/** Among the parts of an item of which something has been told. */
const NOTES = 'notes'
const CALLS = { function_call: 'arguments', custom_tool_call: 'input' } as const

class Rules extends AnswerRules {
  /** By their place in the output, and where that is not said by their id. */
  readonly #items = new Map<string, Item>()
  /** The ids of the calls that were opened. */
  readonly #calls = new Set<string>()
  #anyText = false
  #anyThought = false

  event(name: string, tree: Tree): void {
    const { root } = tree
    const type = tree.string(root, 'type') ?? name
    const response = tree.get(root, 'response')
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        this.begin(tree, response)
        return
      case 'response.output_item.added':
        this.#added(tree, this.#itemOf(tree), tree.get(root, 'item'))
        return
      case 'response.output_item.done':
        this.#done(tree, this.#itemOf(tree), tree.get(root, 'item'))
        return
      case 'response.output_text.annotation.added':
        this.#noted(tree)
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        this.#ended(tree, response, type.slice('response.'.length))
        return
      case 'error':
        this.blocks.fail(failureIn(tree, root))
        return
      default:
        this.#piece(tree, type)
    }
  }

  /** Some upstreams end with the words of another protocol. */
  override words(text: string): boolean {
    return text.trim() === '[DONE]'
  }

  document(tree: Tree): void {
    const { root } = tree
    if (tree.kind(root, 'output') !== 'array') this.blocks.fail(failureIn(tree, root))
    else {
      this.begin(tree, root)
      this.#ended(tree, root, tree.string(root, 'status') ?? 'completed')
    }
  }

  #ended(tree: Tree, response: Node, event: string): void {
    const isCut = event === 'incomplete' || tree.string(response, 'status') === 'incomplete'
    const error = tree.get(response, 'error')
    this.begin(tree, response)
    const details = tree.get(tree.get(response, 'usage'), 'output_tokens_details')
    this.blocks.thinking(tree.number(details, 'reasoning_tokens'))
    if (event === 'failed' || !tree.absent(error)) {
      this.blocks.fail(tree.absent(error) ? unreadable('the upstream failed') : failureIn(tree, response))
      return
    }
    if (event !== 'completed' && !isCut) {
      this.blocks.fail(unreadable(`the answer is not whole: ${event.slice(0, 40)}`))
      return
    }
    this.#late(tree, tree.elements(response, 'output'))
    const why = tree.string(tree.get(response, 'incomplete_details'), 'reason')
    this.blocks.reason = isCut ? 'length' : 'end'
    if (isCut) this.blocks.stopped('responses', why)
    this.blocks.finish()
  }

  // --- items, as they come in pieces, at their end and in the last event

  /** The item that the event is about. An answer whose beginning nobody told has begun now. */
  #itemOf(tree: Tree): Item {
    this.blocks.begin('', '')
    const place = tree.number(tree.root, 'output_index')
    const id = tree.string(tree.root, 'item_id') ?? tree.string(tree.get(tree.root, 'item'), 'id')
    return this.#known(place === null ? `id ${id ?? ''}` : `at ${place}`)
  }

  #known(key: string): Item {
    let item = this.#items.get(key)
    if (item !== undefined) return item
    this.#items.set(key, (item = { block: -1, told: new Set(), done: false }))
    if (this.#items.size > 2 * MOST_BLOCKS) this.blocks.fail(untellable('the answer has too many items'))
    return item
  }

  /** The text cites an address. */
  #noted(tree: Tree): void {
    const item = this.#itemOf(tree)
    if (item.done) return
    item.told.add(NOTES)
    this.blocks.note(citationOf(tree, tree.get(tree.root, 'annotation'), 'block'))
  }

  /** More of a text, or all of it. */
  #piece(tree: Tree, type: string): void {
    const found = /^response\.(\w+)\.(delta|done)$/.exec(type)
    if (found === null) return
    const [, what, when] = found as unknown as [string, string, string]
    const value = (name: string): Node => tree.get(tree.root, name)
    const part = (index: string): string => `${index} ${tree.number(value(index)) ?? 0}`
    const item = this.#itemOf(tree)
    if (item.done || !Object.hasOwn(WHOLE, what)) return
    const node = value(when === 'delta' ? 'delta' : (WHOLE[what] as string))
    const text = tree.literal(node) ?? EMPTY_TEXT
    const source = when === 'delta' ? node : NONE // the whole text is told at most once
    switch (what) {
      case 'output_text':
        this.#text(item, 'text', part('content_index'), text, when, source, logprobsIn(tree, value('logprobs')))
        return
      case 'refusal':
        this.#text(item, 'refusal', part('content_index'), text, when, source)
        return
      case 'reasoning_summary_text':
        this.#text(item, 'thought', part('summary_index'), text, when, source)
        return
      case 'reasoning_text':
        this.#text(item, 'thought', part('content_index'), text, when, source)
        return
      case 'function_call_arguments':
      case 'custom_tool_call_input':
        this.#args(item, text, when, source)
    }
  }

  /** `when`: `done` = the whole text, which counts only where no delta of it came. */
  #text(item: Item, kind: Kind, part: string, text: Literal, when: string, source = NONE, tokens = NO_LOGPROBS): void {
    if ((text === EMPTY_TEXT && tokens.length === 0) || (when === 'done' && item.told.has(part))) return
    if (kind === 'thought' && item.told.size > 0 && !item.told.has(part)) this.blocks.text(kind, BLANK_LINE)
    item.told.add(part)
    if (item.told.size > MOST_BLOCKS) this.blocks.fail(untellable('an item of the answer has too many parts'))
    if (kind === 'thought') this.#anyThought = true
    else this.#anyText = true
    this.blocks.text(kind, text, source, tokens)
  }

  #args(item: Item, text: Literal, when: string, source = NONE): void {
    if (text === EMPTY_TEXT || item.block < 0 || (when === 'done' && item.told.size > 0)) return
    item.told.add('args')
    this.blocks.args(item.block, text, source)
  }

  /** A call without a name cannot be told yet. Texts and thoughts begin with what comes of them. */
  #added(tree: Tree, item: Item, node: Node): void {
    const type = tree.string(node, 'type') ?? ''
    const text = (name: string): string => tree.string(node, name) ?? ''
    if (!Object.hasOwn(CALLS, type) || item.block >= 0 || item.done || text('name') === '') return
    const id = text('call_id') === '' ? text('id') : text('call_id')
    this.#calls.add(id)
    item.block = this.blocks.call(id, text('name'), undefined, type === 'custom_tool_call')
  }

  /** The item is whole: what no delta brought is told now. */
  #done(tree: Tree, item: Item, node: Node): void {
    if (item.done) return
    switch (tree.string(node, 'type')) {
      case 'message':
        this.#message(tree, item, node)
        break
      case 'reasoning':
        this.#reasoning(tree, item, node)
        break
      case 'image_generation_call':
        this.#image(tree, node)
        break
      case 'function_call':
      case 'custom_tool_call':
        this.#added(tree, item, node)
        this.#call(tree, item, node)
        break
      case 'web_search_call':
        this.#searched(tree, node)
    }
    item.done = true
  }

  /** Where the upstream does not say what it found, that is known from what it cites. */
  #searched(tree: Tree, node: Node): void {
    const action = tree.get(node, 'action')
    if ((tree.string(action, 'type') ?? 'search') !== 'search') return
    const { searches } = this.blocks
    const isFailed = tree.string(node, 'status') === 'failed'
    const sources = sourcesIn(tree, tree.get(action, 'sources'))
    const queries = tree.elements(action, 'queries').map(one => tree.literal(one))
    const said = [...queries, ...(queries.length === 0 ? [tree.literal(action, 'query')] : [])].filter(
      one => one !== null,
    )
    if (isFailed || sources.length > 0) this.blocks.searched(searches.whole(said, sources, isFailed))
    else if (said.length === 0) searches.saw()
    else for (const query of said) searches.saw(query)
  }

  /** A picture that the model has drawn. */
  #image(tree: Tree, node: Node): void {
    const base64 = tree.literal(node, 'result') ?? EMPTY_TEXT
    if (base64 !== EMPTY_TEXT) this.blocks.media('image/png', base64)
  }

  #message(tree: Tree, item: Item, node: Node): void {
    tree.elements(node, 'content').forEach((part, index) => {
      const kind = tree.string(part, 'type') === 'refusal' ? 'refusal' : 'text'
      const text = tree.literal(part, kind) ?? EMPTY_TEXT
      const tokens = kind === 'text' ? logprobsIn(tree, tree.get(part, 'logprobs')) : NO_LOGPROBS
      this.#text(item, kind, `content_index ${index}`, text, 'done', NONE, tokens)
      if (item.told.has(NOTES)) return
      for (const note of tree.elements(part, 'annotations')) this.blocks.note(citationOf(tree, note, 'block'))
    })
    this.blocks.closeText()
  }

  #reasoning(tree: Tree, item: Item, node: Node): void {
    for (const list of ['summary', 'content'])
      tree.elements(node, list).forEach((part, index) => {
        const text = tree.literal(part, 'text') ?? EMPTY_TEXT
        this.#text(item, 'thought', `${list}_index ${index}`, text, 'done')
      })
    const state = tree.literal(node, 'encrypted_content')
    const id = tree.string(node, 'id') ?? ''
    if (state === null || state === EMPTY_TEXT) this.blocks.closeText()
    else this.blocks.seal('thought', item.told.size > 0 ? 'signed' : 'hidden', state, id)
    this.#anyThought = true
  }

  #call(tree: Tree, item: Item, node: Node): void {
    const type = tree.string(node, 'type') as keyof typeof CALLS
    const value = tree.get(node, CALLS[type])
    if (!tree.absent(value)) this.#args(item, tree.literal(value) ?? quote(tree.source(value)), 'done')
    this.blocks.closeCall(item.block)
  }

  /** Items that stand nowhere but in the last event. */
  #late(tree: Tree, items: readonly Node[]): void {
    const wasText = this.#anyText
    const wasThought = this.#anyThought
    items.forEach((node, place) => {
      const id = tree.string(node, 'id') ?? ''
      const known = this.#items.get(`at ${place}`) ?? this.#items.get(`id ${id}`)
      const type = tree.string(node, 'type')
      const wasCalled = this.#calls.has(tree.string(node, 'call_id') ?? id)
      const was = type === 'message' ? wasText : type === 'reasoning' ? wasThought : wasCalled
      if (known !== undefined || !was) this.#done(tree, known ?? this.#known(`at ${place}`), node)
    })
  }
}
