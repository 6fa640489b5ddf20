/** Answers of upstreams that speak chat completions: their chunks, or the one document. */
import { finishOf } from '../../protocols/finish-words.ts'
import { Blocks, unreadable } from '../blocks.ts'
import { citationOf } from '../citation.ts'
import { reasonOf } from '../events.ts'
import { type AnswerRules, readerOf } from '../input.ts'
import type { Node, Tree } from '../json/tree.ts'
import type { AnswerReader, ReaderOptions } from '../protocol.ts'
import { failureIn } from '../upstream-error.ts'
import { CallReader } from './call-reader.ts'

export const answerReader = (options: ReaderOptions): AnswerReader => readerOf(new Rules(options), options.events)

class Rules implements AnswerRules {
  readonly blocks: Blocks
  readonly #calls: CallReader

  constructor(options: ReaderOptions) {
    this.blocks = new Blocks(options)
    this.#calls = new CallReader(this.blocks)
  }

  event(_name: string, tree: Tree): void {
    if (this.#failed(tree)) return
    this.#chunk(tree, 'delta')
  }

  words(text: string): boolean {
    if (text.trim() !== '[DONE]') return false
    this.#calls.end()
    if (this.blocks.reason === null && !this.blocks.any) this.blocks.reason = 'other'
    this.blocks.finish()
    return true
  }

  ended(): void {
    this.blocks.fail(unreadable('the answer ended before its end'))
  }

  document(tree: Tree): void {
    if (this.#failed(tree)) return
    if (tree.kind(tree.get(tree.root, 'choices')) !== 'array') {
      this.blocks.fail(unreadable('the answer has no choices'))
      return
    }
    this.#chunk(tree, 'message')
    this.#calls.end()
    this.blocks.finish()
  }

  #failed(tree: Tree): boolean {
    const error = tree.get(tree.root, 'error')
    if (tree.absent(error) || tree.source(error) === '""') return false
    this.blocks.fail(failureIn(tree, tree.root))
    return true
  }

  #chunk(tree: Tree, member: 'delta' | 'message'): void {
    if (!this.blocks.began) this.#begin(tree)
    const details = tree.get(tree.get(tree.root, 'usage'), 'completion_tokens_details')
    this.blocks.thinking(tree.number(tree.get(details, 'reasoning_tokens')))
    for (const choice of tree.elements(tree.get(tree.root, 'choices'))) {
      if ((tree.number(tree.get(choice, 'index')) ?? 0) !== 0) continue
      this.#message(tree, tree.get(choice, member))
      this.#reason(tree.string(tree.get(choice, 'finish_reason')))
    }
  }

  #begin(tree: Tree): void {
    const text = (name: string): string => tree.string(tree.get(tree.root, name)) ?? ''
    this.blocks.begin(text('id'), text('model'))
  }

  #message(tree: Tree, message: Node): void {
    this.#thought(tree, message)
    this.#content(tree, tree.get(message, 'content'))
    this.#text(tree, 'refusal', tree.get(message, 'refusal'))
    for (const note of tree.elements(tree.get(message, 'annotations'))) this.blocks.note(citationOf(tree, note))
    this.#calls.read(tree, tree.get(message, 'tool_calls'))
    this.#calls.readLegacy(tree, tree.get(message, 'function_call'))
  }

  /** Vendors have several names for it, and some send it under two of them. */
  #thought(tree: Tree, message: Node): void {
    for (const name of ['reasoning_content', 'reasoning'])
      if (this.#text(tree, 'thought', tree.get(message, name))) return
    for (const detail of tree.elements(tree.get(message, 'reasoning_details')))
      if (!this.#text(tree, 'thought', tree.get(detail, 'text')))
        this.#text(tree, 'thought', tree.get(detail, 'summary'))
  }

  /** A text, or parts of which some may be thoughts. */
  #content(tree: Tree, content: Node): void {
    this.#text(tree, 'text', content)
    for (const part of tree.elements(content)) {
      this.#text(tree, 'text', tree.get(part, 'text'))
      for (const thought of tree.elements(tree.get(part, 'thinking')))
        this.#text(tree, 'thought', tree.get(thought, 'text'))
    }
  }

  /** False: it is no text. */
  #text(tree: Tree, kind: 'text' | 'thought' | 'refusal', node: Node): boolean {
    const text = tree.literal(node)
    if (text !== null) this.blocks.text(kind, text, node)
    return text !== null
  }

  #reason(word: string | null): void {
    if (word === null || word === '') return
    // upstreams that speak for others say so that these failed
    if (finishOf('chat', word) === 'failed') this.blocks.fail(unreadable(`the upstream stopped: ${word}`))
    this.blocks.reason = reasonOf('chat', word)
  }
}
