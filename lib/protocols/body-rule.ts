/**
 * What a kind of provider wants to be said differently in a body of JSON: members that stand in the path there, members
 * that every request has there, and a header that stands in the body. Everything else of the body stays as it is.
 */
import type { Edit } from './edit.ts'
import { JsonScanner } from './json/scanner.ts'

export interface BodyRule {
  /** Members of the top-level object that are left out. */
  leftOut: readonly string[]
  /** Members that are put in, in the place of those that the client sent. At least one. */
  set: Readonly<Record<string, string | number>>
  /**
   * A header whose values, which commas part, also stand in a member, as a list. What the client put into that member never goes on:
   * channels decide by the header which values their upstream gets. null = there is none.
   */
  listed: { header: string; member: string } | null
  /** What stands before and behind the body, which is base64 between them. Absent: the body is sent as it is. */
  envelope?: readonly [before: string, behind: string]
}

/** By rule, and by the names of further members that are left out: the same object for the same, because scans are kept by it. */
const wider = new WeakMap<BodyRule, Map<string, BodyRule>>()

/** The rule with further members left out. `names`: of the few that `leave-out.ts` knows. */
export function ruleWithout(rule: BodyRule, names: readonly string[]): BodyRule {
  if (names.length === 0) return rule
  const key = names.join()
  const rules = wider.get(rule) ?? new Map<string, BodyRule>()
  wider.set(rule, rules)
  const found = rules.get(key) ?? { ...rule, leftOut: [...rule.leftOut, ...names] }
  rules.set(key, found)
  return found
}

const NOTHING = Buffer.alloc(0)
/** So many members of a body may go. Each of them is an edit, and one client could send a million of the same name. */
const MOST_GONE = 64

/** Finds in a body what a rule is about, while the body is handed on; it is one object that the gateway has read. */
export class RuleScan {
  readonly #rule: BodyRule
  readonly #members: Members
  readonly #scanner: JsonScanner

  constructor(rule: BodyRule) {
    const { leftOut, set, listed } = rule
    this.#rule = rule
    this.#members = new Members(new Set([...leftOut, ...Object.keys(set), ...(listed === null ? [] : [listed.member])]))
    this.#scanner = new JsonScanner(this.#members)
  }

  feed(piece: Buffer): void {
    this.#scanner.feed(piece)
  }

  /** When all of the body was handed on. `headers`: `[name, value, …]`, as they go upstream. Throws when too many members would go. */
  edits(headers: readonly string[]): Edit[] {
    const { set, listed } = this.#rule
    if (this.#members.ends.length > MOST_GONE) throw new Error('the body says the same too often')
    const put: [name: string, value: string | number | readonly string[]][] = Object.entries(set)
    const values = listed === null ? [] : valuesOf(headers, listed.header)
    if (listed !== null && values.length > 0) put.push([listed.member, values])
    const { openedAt } = this.#scanner
    const text = put.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')
    const comma = text === '' || !this.#members.firstStays ? '' : ','
    return [
      { span: { start: openedAt, end: openedAt }, bytes: Buffer.from(text + comma) },
      ...this.#members.ends.map(([before, end]) => ({ span: { start: before ?? openedAt, end }, bytes: NOTHING })),
    ]
  }
}

/** The edits that a rule asks for in a body. */
export function ruleEdits(chunks: readonly Buffer[], rule: BodyRule, headers: readonly string[]): Edit[] {
  const scan = new RuleScan(rule)
  for (const chunk of chunks) scan.feed(chunk)
  return scan.edits(headers)
}

const THREE_AS_BASE64 = 4

/** How many bytes a body has in its envelope. */
export const wrappedLength = (bytes: number, [before, behind]: NonNullable<BodyRule['envelope']>): number =>
  before.length + Math.ceil(bytes / 3) * THREE_AS_BASE64 + behind.length

/** A body in its envelope. */
export const wrapped = (chunks: readonly Buffer[], [before, behind]: NonNullable<BodyRule['envelope']>): Buffer =>
  Buffer.from(before + Buffer.concat(chunks).toString('base64') + behind, 'latin1')

/** Finds the members of the top-level object that go: each from the end of the member before it to its own end. */
class Members {
  readonly #names: ReadonlySet<string>
  /** null = the member is the first one. */
  readonly ends: [before: number | null, end: number][] = []
  #before: number | null = null
  firstStays = false

  constructor(names: ReadonlySet<string>) {
    this.#names = names
  }

  wants(): number {
    return 0
  }

  member(key: string, _kind: string, _start: number, end: number): void {
    const goes = this.#names.has(key)
    if (!goes && this.#before === null) this.firstStays = true
    if (goes && this.ends.length <= MOST_GONE) this.ends.push([this.#before, end])
    this.#before = end
  }
}

function valuesOf(headers: readonly string[], name: string): string[] {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text === name)
  const value = at < 0 ? '' : (headers[at + 1] as string)
  return value
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')
}
