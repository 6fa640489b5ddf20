/**
 * Answers of upstreams of the responses protocol: their events, or the one document. Upstreams say everything several
 * times: in deltas, at the end of a text, at the end of its item and in the last event. What came once is not told again.
 */
import { Blocks, unreadable } from '../blocks.ts'
import { reasonOf } from '../events.ts'
import { type AnswerRules, readerOf } from '../input.ts'
import type { Node, Tree } from '../json/tree.ts'
import type { AnswerReader, ReaderOptions } from '../protocol.ts'
import { failureIn } from '../upstream-error.ts'
import { OutputReader } from './output-reader.ts'

export const answerReader = (options: ReaderOptions): AnswerReader => readerOf(new Rules(options), options.events)

class Rules implements AnswerRules {
  readonly blocks: Blocks
  readonly #output: OutputReader

  constructor(options: ReaderOptions) {
    this.blocks = new Blocks(options)
    this.#output = new OutputReader(this.blocks)
  }

  event(name: string, tree: Tree): void {
    const { root } = tree
    const type = tree.string(tree.get(root, 'type')) ?? name
    const response = tree.get(root, 'response')
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        this.#begin(tree, response)
        return
      case 'response.output_item.added':
        this.#output.added(tree)
        return
      case 'response.output_item.done':
        this.#output.done(tree)
        return
      case 'response.output_text.annotation.added':
        this.#output.noted(tree)
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
        this.#output.piece(tree, type)
    }
  }

  /** Some upstreams end with the words of another protocol. */
  words(text: string): boolean {
    return text.trim() === '[DONE]'
  }

  ended(): void {
    this.blocks.fail(unreadable('the answer ended before its end'))
  }

  document(tree: Tree): void {
    const { root } = tree
    if (tree.kind(tree.get(root, 'output')) !== 'array') this.blocks.fail(failureIn(tree, root))
    else {
      this.#begin(tree, root)
      this.#ended(tree, root, tree.string(tree.get(root, 'status')) ?? 'completed')
    }
  }

  #begin(tree: Tree, response: Node): void {
    const text = (name: string): string => tree.string(tree.get(response, name)) ?? ''
    this.blocks.begin(text('id'), text('model'))
  }

  #ended(tree: Tree, response: Node, event: string): void {
    const isCut = event === 'incomplete' || tree.string(tree.get(response, 'status')) === 'incomplete'
    const error = tree.get(response, 'error')
    this.#begin(tree, response)
    const details = tree.get(tree.get(response, 'usage'), 'output_tokens_details')
    this.blocks.thinking(tree.number(tree.get(details, 'reasoning_tokens')))
    if (event === 'failed' || !tree.absent(error)) {
      this.blocks.fail(tree.absent(error) ? unreadable('the upstream failed') : failureIn(tree, response))
      return
    }
    if (event !== 'completed' && !isCut) {
      this.blocks.fail(unreadable(`the answer is not whole: ${event.slice(0, 40)}`))
      return
    }
    this.#output.late(tree, tree.elements(tree.get(response, 'output')))
    const why = tree.string(tree.get(tree.get(response, 'incomplete_details'), 'reason')) ?? ''
    this.blocks.reason = isCut ? reasonOf('responses', why, 'length') : 'end'
    this.blocks.finish()
  }
}
