/**
 * Calls in the chunks of chat completions. Their pieces may be mixed, and upstreams differ in what they say of a piece: a
 * call is known by its index, else by its id, and a piece that has neither goes on with the last call.
 */
import { type Blocks, MOST_BLOCKS, unreadable } from '../blocks.ts'
import { ObjectCheck } from '../json/check.ts'
import { EMPTY, type Literal, quote } from '../json/literal.ts'
import { NONE, type Node, type Tree } from '../json/tree.ts'

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

export class CallReader {
  readonly #blocks: Blocks
  readonly #calls = new Map<string, Call>()
  #last: Call | null = null
  #earlyBytes = 0

  constructor(blocks: Blocks) {
    this.#blocks = blocks
  }

  read(tree: Tree, list: Node): void {
    for (const element of tree.elements(list)) {
      const custom = tree.get(element, 'custom')
      const inner = tree.kind(custom) === 'object' ? custom : tree.get(element, 'function')
      const call = this.#callOf(tree, element, inner)
      this.#piece(tree, call, inner, custom === inner ? 'input' : 'arguments')
    }
  }

  /** The form of calls before there could be several. */
  readLegacy(tree: Tree, inner: Node): void {
    if (tree.kind(inner) === 'object') this.#piece(tree, this.#known('legacy', ''), inner, 'arguments')
  }

  /** The answer is whole. Calls whose tool was never named are none. */
  end(): void {
    this.#blocks.closeCalls()
  }

  #callOf(tree: Tree, element: Node, inner: Node): Call {
    const index = tree.number(tree.get(element, 'index'))
    const id = tree.string(tree.get(element, 'id')) ?? ''
    const name = tree.string(tree.get(inner, 'name')) ?? ''
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
    const last = this.#last
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
      if (this.#calls.size > 2 * MOST_BLOCKS) this.#blocks.fail(unreadable('the answer has too many calls'))
    }
    if (also !== undefined) this.#calls.set(also, call)
    if (call.id === '') call.id = id
    this.#last = call
    return call
  }

  #piece(tree: Tree, call: Call, inner: Node, member: string): void {
    const name = tree.string(tree.get(inner, 'name')) ?? ''
    const value = tree.get(inner, member)
    if (call.block < 0 && name !== '') this.#open(call, name)
    if (tree.absent(value)) return
    const isText = tree.kind(value) === 'string'
    const args = isText ? tree.source(value) : quote(tree.source(value))
    if (args === EMPTY) return
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
