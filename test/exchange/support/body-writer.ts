/** Writes the members of a JSON body in every spelling that some reader accepts, and knows the most that it may read in them. */
import type { Random } from '../../support/random.ts'

/** JSON text and what it is to a lenient reader: NaN = anything it likes. */
type Numeral = [text: string, value: number | null]

function numeral(random: Random, most: number): Numeral {
  const value = random.int(1, most)
  return random.pick<() => Numeral>([
    () => [`${value}`, value],
    () => [`${value}`, value],
    () => [`"${value}"`, value],
    () => [`" ${value}"`, value],
    () => [`${value}.5`, value + 1],
    () => [`${value}e0`, value],
    () => [`"${value}.0"`, value],
    () => ['0', 0],
    () => ['null', null],
    () => ['-1', Number.NaN],
    () => ['1e400', Number.NaN],
    () => ['true', Number.NaN],
    () => ['"lots"', Number.NaN],
    () => ['{"value":7}', Number.NaN],
    () => [`"${'0'.repeat(80)}${value}"`, value],
  ])()
}

/** A name as some readers take it for this one. */
function spelled(random: Random, name: string): string {
  const at = random.int(0, name.length - 1)
  const c = name[at] as string
  const put = (other: string) => `"${name.slice(0, at)}${other}${name.slice(at + 1)}"`
  const odd = random.int(0, 11)
  if (odd === 0) return put(c.toUpperCase())
  if (odd === 1) return put(`\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  if (odd === 2) return `"${name.replace('k', '\u212A').replace('s', '\u017F')}"`
  return `"${name}"`
}

export class Writer {
  readonly random: Random
  readonly members: string[] = []
  constructor(random: Random) {
    this.random = random
  }

  chance(share: number): boolean {
    return this.random.next() < share
  }

  add(name: string, value: string): void {
    this.members.push(`${spelled(this.random, name)}:${value}`)
  }

  /** The largest that any reader may take from the spellings; null = it may take none. */
  numbers(names: readonly string[], most: number, share: number): number | null {
    let largest: number | null = null
    for (const name of names) {
      for (let times = this.chance(share) ? (this.chance(0.05) ? 2 : 1) : 0; times > 0; times--) {
        const [text, value] = numeral(this.random, most)
        this.add(name, text)
        if (value !== null) largest = Math.max(largest ?? 0, Number.isNaN(value) ? Number.POSITIVE_INFINITY : value)
      }
    }
    return largest
  }

  get text(): string {
    const mixed = [...this.members].sort(() => this.random.next() - 0.5)
    return `{${mixed.join(this.random.pick([',', ', ', ' ,\n']))}}`
  }
}
