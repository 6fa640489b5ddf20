/** Answers of upstreams of Converse: their events, or the one document. */
import { answerReaderOf, AnswerRules, MOST_BLOCKS } from '../answer-reader.ts'
import { type AnswerReader, type ReaderOptions, untellable } from '../events.ts'
import { failureIn } from '../failure.ts'
import { EMPTY_TEXT, join, type Literal, quote } from '../json/literal.ts'
import type { Node, Tree } from '../json/tree.ts'

export const converseAnswerReader = (options: ReaderOptions): AnswerReader =>
  answerReaderOf(own => new Rules(own), options)

/** A block between its first event and its stop. */
interface Open {
  /** The block of a call; -1 = it is none. */
  call: number
  /** The signature of a thought, and one that is hidden, which may come in pieces. */
  signature: Literal
  hidden: Literal
  format: string
}

class Rules extends AnswerRules {
  /** By the upstream's own index. */
  readonly #open = new Map<number, Open>()
  #hasStopped = false
  #hasUsage = false

  event(name: string, tree: Tree): void {
    const { root } = tree
    switch (name) {
      case 'messageStart':
        this.blocks.begin('', '')
        return
      case 'contentBlockStart':
        this.#start(tree, this.#block(tree), tree.get(root, 'start'))
        return
      case 'contentBlockDelta':
        this.#delta(tree, this.#block(tree), tree.get(root, 'delta'))
        return
      case 'contentBlockStop':
        this.#stop(tree.number(root, 'contentBlockIndex') ?? 0)
        return
      case 'messageStop':
        for (const index of this.#open.keys()) this.#stop(index)
        this.#ends(tree)
        this.#hasStopped = true
        if (this.#hasUsage) this.blocks.finish()
        return
      case 'metadata':
        this.#hasUsage = true
        if (this.#hasStopped) this.blocks.finish()
        return
      case 'error':
        this.blocks.fail(failureIn(tree, root))
    }
  }

  document(tree: Tree): void {
    const message = tree.get(tree.get(tree.root, 'output'), 'message')
    if (tree.kind(message, 'content') !== 'array') {
      this.blocks.fail(failureIn(tree, tree.root))
      return
    }
    this.blocks.begin('', '')
    for (const block of tree.elements(message, 'content')) this.#whole(tree, block)
    this.#ends(tree)
    this.blocks.finishDocument()
  }

  #ends(tree: Tree): void {
    this.blocks.stopped('converse', tree.string(tree.root, 'stopReason'))
    const fields = tree.get(tree.root, 'additionalModelResponseFields')
    this.blocks.sequence =
      tree.literal(fields, 'stop_sequence') ?? tree.literal(tree.get(fields, 'delta'), 'stop_sequence')
  }

  /** Only calls and pictures say that they begin. */
  #block(tree: Tree): Open {
    const index = tree.number(tree.root, 'contentBlockIndex') ?? 0
    let open = this.#open.get(index)
    if (open === undefined) {
      this.blocks.begin('', '')
      this.blocks.closeText()
      open = { call: -1, signature: EMPTY_TEXT, hidden: EMPTY_TEXT, format: 'png' }
      this.#open.set(index, open)
      if (this.#open.size > MOST_BLOCKS) this.blocks.fail(untellable('the answer has too many open blocks'))
    }
    return open
  }

  #start(tree: Tree, open: Open, start: Node): void {
    const call = tree.get(start, 'toolUse')
    if (tree.kind(call) === 'object') open.call = this.#call(tree, call)
    open.format = tree.string(tree.get(start, 'image'), 'format') ?? open.format
  }

  #call(tree: Tree, call: Node): number {
    return this.blocks.call(tree.string(call, 'toolUseId') ?? '', tree.string(call, 'name') ?? '')
  }

  #delta(tree: Tree, open: Open, delta: Node): void {
    const text = tree.get(delta, 'text')
    const input = tree.get(tree.get(delta, 'toolUse'), 'input')
    const thought = tree.get(delta, 'reasoningContent')
    const said = tree.get(thought, 'text')
    this.blocks.text('text', tree.literal(text) ?? EMPTY_TEXT, text)
    this.blocks.args(open.call, tree.literal(input) ?? EMPTY_TEXT, input)
    this.blocks.text('thought', tree.literal(said) ?? EMPTY_TEXT, said)
    open.signature = join([open.signature, tree.literal(thought, 'signature') ?? EMPTY_TEXT])
    open.hidden = join([open.hidden, tree.literal(thought, 'redactedContent') ?? EMPTY_TEXT])
    this.#picture(tree, tree.get(delta, 'image'), open.format)
  }

  #picture(tree: Tree, image: Node, format: string): void {
    const bytes = tree.literal(tree.get(image, 'source'), 'bytes')
    if (bytes !== null) this.blocks.media(`image/${format}`, bytes)
  }

  #stop(index: number): void {
    const open = this.#open.get(index)
    if (open === undefined) return
    this.#open.delete(index)
    this.#state(open.signature, open.hidden)
    if (open.call >= 0) this.blocks.closeCall(open.call)
    else this.blocks.closeText()
  }

  #state(signature: Literal, hidden: Literal): void {
    if (signature !== EMPTY_TEXT) this.blocks.seal('thought', 'signed', signature)
    if (hidden !== EMPTY_TEXT) this.blocks.seal('thought', 'hidden', hidden)
  }

  #whole(tree: Tree, block: Node): void {
    const thought = tree.get(block, 'reasoningContent')
    const said = tree.get(thought, 'reasoningText')
    const call = tree.get(block, 'toolUse')
    const image = tree.get(block, 'image')
    this.blocks.text('text', tree.literal(block, 'text') ?? EMPTY_TEXT)
    for (const cited of tree.elements(tree.get(block, 'citationsContent'), 'content'))
      this.blocks.text('text', tree.literal(cited, 'text') ?? EMPTY_TEXT)
    this.blocks.text('thought', tree.literal(said, 'text') ?? EMPTY_TEXT)
    this.#state(tree.literal(said, 'signature') ?? EMPTY_TEXT, tree.literal(thought, 'redactedContent') ?? EMPTY_TEXT)
    this.blocks.closeText()
    this.#picture(tree, image, tree.string(image, 'format') ?? 'png')
    if (tree.kind(call) !== 'object') return
    const index = this.#call(tree, call)
    const input = tree.get(call, 'input')
    // some models give a text
    this.blocks.args(index, tree.literal(input) ?? quote(tree.absent(input) ? '{}' : tree.source(input)))
    this.blocks.closeCall(index)
  }
}
