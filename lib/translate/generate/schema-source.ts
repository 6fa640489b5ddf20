/**
 * A schema while it is cleaned: its tree, what its references point at, and how much may still be made of it. Every look at a part
 * costs some of that, so that a schema in which everything refers to everything takes no longer than its length allows.
 */
import type { Source } from '../json/literal.ts'
import { NONE, type Node, Tree } from '../json/tree.ts'
import { Untranslatable } from '../loss.ts'

/** What is deeper is any value. */
export const MOST_LEVELS = 64
const LONGEST = 1024 * 1024
const LEAST_LIMIT = 4096
const TIMES_SOURCE = 4
const MEMBER_BYTES = 2

const DEFINED = /^#\/(?:\$defs|definitions)\/([^/]+)$/

export class SchemaSource {
  readonly tree = new Tree(MOST_LEVELS)
  readonly #field: string
  /** Bytes that may still be written. */
  #left: number
  /** The members of objects that references go through, by name. */
  readonly #named = new Map<Node, ReadonlyMap<string, Node>>()
  /** The same of arrays. */
  readonly #listed = new Map<Node, readonly Node[]>()

  /** Throws `Untranslatable` with `field` when the schema is too large, and later when it would become so. */
  constructor(source: Source, field: string) {
    this.#field = field
    this.#left = Math.min(LONGEST, Math.max(LEAST_LIMIT, source.length * TIMES_SOURCE))
    if (source.length > LONGEST || !this.tree.read(source)) throw new Untranslatable(field)
  }

  spend(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new Untranslatable(this.#field)
  }

  copy(source: Source): Source {
    this.spend(source.length)
    return source
  }

  elements(node: Node | undefined): Node[] {
    const all = this.tree.elements(node ?? NONE)
    this.spend(all.length)
    return all
  }

  members(node: Node, each: (name: string, value: Node) => void): void {
    this.tree.members(node, (name, value) => {
      this.spend(MEMBER_BYTES)
      each(name, value)
    })
  }

  // --- references

  definition(name: string): Node {
    const { tree } = this
    const own = this.#member(tree.get(tree.root, '$defs'), name)
    return own === NONE ? this.#member(tree.get(tree.root, 'definitions'), name) : own
  }

  /** The name of a definition at the top; null = it refers to something else. */
  defined(ref: string): string | null {
    const name = DEFINED.exec(ref)?.[1]
    if (name === undefined) return null
    const plain = unescapedName(name)
    return this.definition(plain) === NONE ? null : plain
  }

  target(ref: string): Node {
    const name = this.defined(ref)
    if (name !== null) return this.definition(name)
    if (!ref.startsWith('#/')) return NONE
    let node = this.tree.root
    for (const step of ref.slice(2).split('/').slice(0, MOST_LEVELS)) {
      const isList = this.tree.kind(node) === 'array'
      node = isList ? this.#element(node, Number(step)) : this.#member(node, unescapedName(step))
    }
    return node
  }

  #member(node: Node, name: string): Node {
    if (this.tree.kind(node) !== 'object') return NONE
    let named = this.#named.get(node)
    if (named === undefined) {
      const found = new Map<string, Node>()
      this.tree.members(node, (own, value) => found.set(own, value))
      this.#named.set(node, (named = found))
    }
    return named.get(name) ?? NONE
  }

  #element(node: Node, at: number): Node {
    let listed = this.#listed.get(node)
    if (listed === undefined) this.#listed.set(node, (listed = this.tree.elements(node)))
    return listed[at] ?? NONE
  }
}

/** A step of a reference: its signs may be escaped in two ways. */
function unescapedName(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~')
  if (!plain.includes('%')) return plain
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
