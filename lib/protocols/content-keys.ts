/** The keys under which a protocol's answers have their content, and how the value of each counts. */
import { Patterns } from './json/patterns.ts'

/**
 * How the value of a key counts. `text`: a string of text. `encoded`: a string of base64. `whole`: an object or array,
 * which counts by its bytes between the outer brackets. `again`: a text that most streams repeat after its deltas, and
 * that some streams have only there. `thought`, `beside`: texts of which many answers say the same under a key of each kind, and
 * some under a key of one; whichever kind has more counts.
 */
export type Kind = 'text' | 'thought' | 'beside' | 'encoded' | 'whole' | 'again'
const OTHERS = ['thought', 'beside', 'encoded', 'whole'] as const

/** The content keys of one protocol. They are made once, when the process starts. */
export class ContentKeys {
  readonly patterns: Patterns
  /** All keys but those of kind `again`, which are not searched any more once a text has come under another key. */
  readonly first: Patterns
  /** The keys that are not of kind `text`, with their quotes. */
  readonly #others: [string, Kind][] = []

  constructor(keys: Partial<Record<Kind, readonly string[]>>) {
    const quoted = (kind: Kind): string[] => (keys[kind] ?? []).map(key => `"${key}"`)
    for (const kind of [...OTHERS, 'again'] as const) for (const key of quoted(kind)) this.#others.push([key, kind])
    const first = [...quoted('text'), ...OTHERS.flatMap(quoted)]
    this.first = new Patterns(first)
    this.patterns = keys.again === undefined ? this.first : new Patterns([...first, ...quoted('again')])
  }

  /** The kind of the key that ends at `end`, its quotes included. */
  kindAt(text: string, end: number): Kind {
    for (const [key, kind] of this.#others) if (text.startsWith(key, end - key.length)) return kind
    return 'text'
  }
}
