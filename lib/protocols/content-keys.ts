/** Under which keys of a protocol's answers content stands, and how it counts. */
import { Patterns } from './patterns.ts'

/**
 * How the value of a key counts. `text`: a string of text. `encoded`: a string of base64. `whole`: an object or array, by
 * its bytes between the outer brackets. `again`: a text that streams say once more behind the deltas, and others say only there.
 */
export type Kind = 'text' | 'encoded' | 'whole' | 'again'

/** The keys under which content stands; made once per protocol. */
export class ContentKeys {
  readonly patterns: Patterns
  /** Without those under which a text is said again: once it was said the first time, they are not looked for. */
  readonly first: Patterns
  /** Those that are not of text, with their quotes. */
  readonly #others: [string, Kind][] = []

  constructor(keys: Partial<Record<Kind, readonly string[]>>) {
    const quoted = (kind: Kind): string[] => (keys[kind] ?? []).map(key => `"${key}"`)
    for (const kind of ['encoded', 'whole', 'again'] as const)
      for (const key of quoted(kind)) this.#others.push([key, kind])
    const first = [...quoted('text'), ...quoted('encoded'), ...quoted('whole')]
    this.first = new Patterns(first)
    this.patterns = keys.again === undefined ? this.first : new Patterns([...first, ...quoted('again')])
  }

  /** Of the key, with its quotes, that ends there. */
  kindAt(text: string, end: number): Kind {
    for (const [key, kind] of this.#others) if (text.startsWith(key, end - key.length)) return kind
    return 'text'
  }
}
