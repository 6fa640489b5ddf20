/**
 * The few edits that a body may need before it goes upstream. An edited body is a list of buffers, parts of the old
 * body and new pieces between them, so that nothing large is copied.
 */

import { JsonScanner, type ScanEvents } from '../json/scanner.ts'
import { type ListElement, SWITCHES } from '../words/server-tools.ts'
import { fieldsOf } from '../json/text.ts'
import type { Facts, Removable, Span, StreamOptions } from './facts.ts'

export interface Edit {
  span: Span
  bytes: Buffer
}

export interface Edited {
  chunks: Buffer[]
  /** The number of bytes of all chunks together. */
  length: number
}

/** Applies the edits, whose spans must not overlap; their order does not matter. */
export function editBody(chunks: readonly Buffer[], edits: readonly Edit[]): Edited {
  const sorted = [...edits].sort((a, b) => a.span.start - b.span.start)
  const out: Buffer[] = []
  let base = 0
  let next = 0
  let skipTo = 0
  for (const chunk of chunks) {
    let at = Math.max(0, skipTo - base)
    while (next < sorted.length && (sorted[next] as Edit).span.start - base < chunk.length) {
      const { span, bytes } = sorted[next++] as Edit
      push(out, chunk.subarray(at, span.start - base))
      push(out, bytes)
      skipTo = span.end
      at = span.end - base
    }
    if (at < chunk.length) push(out, chunk.subarray(at))
    base += chunk.length
  }
  return { chunks: out, length: out.reduce((sum, chunk) => sum + chunk.length, 0) }
}

const push = (out: Buffer[], chunk: Buffer): void => {
  if (chunk.length > 0) out.push(chunk)
}

/** The edit that puts the upstream's name of the model into a body of JSON. */
export const mapModel = (facts: Facts, upstreamName: string): Edit => ({
  span: facts.modelSpan as Span,
  bytes: Buffer.from(JSON.stringify(upstreamName)),
})

/** The edits that put the upstream's name into all places in which the body repeats the model of the path. */
export function mapRepeatedModels({ model, repeatedModels }: Facts, upstreamName: string): Edit[] {
  const prefix = model?.startsWith('models/') ? 'models/' : ''
  const bytes = Buffer.from(JSON.stringify(prefix + upstreamName))
  return repeatedModels.map(span => ({ span, bytes }))
}

/** The edit that makes `stream_options.include_usage` true. */
export function askForUsage(facts: Facts): Edit {
  const options = facts.streamOptions
  if (options === null) return insert(facts.openedAt, '"stream_options":{"include_usage":true},')
  if (!options.isObject) return { span: options.span, bytes: Buffer.from('{"include_usage":true}') }
  if (options.includeUsage !== null) return { span: options.includeUsage, bytes: Buffer.from('true') }
  return insert(options.span.start + 1, `"include_usage":true${options.empty ? '' : ','}`)
}

/** The same for options that have a member for us, which is left out; `asks`: usage is to be asked for. */
export function optionsWithoutCost(parts: readonly Buffer[], { span }: StreamOptions, asks: boolean): Edit {
  const { include_cost: _ours, ...options } = fieldsOf(JSON.parse(textAt(parts, span)))
  return { span, bytes: Buffer.from(JSON.stringify(asks ? { ...options, include_usage: true } : options)) }
}

/** What stands there in a body. */
function textAt(parts: readonly Buffer[], { start, end }: Span): string {
  const found: Buffer[] = []
  let base = 0
  for (const part of parts) {
    if (base < end && base + part.length > start) found.push(part.subarray(Math.max(0, start - base), end - base))
    base += part.length
  }
  return Buffer.concat(found).toString()
}

/** Inserts a member at the beginning of the body. The body has `"stream":true` after it, so the comma is right. */
const insert = (at: number, text: string): Edit => ({ span: { start: at, end: at }, bytes: Buffer.from(text) })

// --- searches that are left out

/*
 * A search is an element of a list of tools, or a member of the body. A list of the body that has no tool any more goes with all
 * that is said of it, because upstreams refuse a choice among no tools. Everything else keeps its bytes.
 */

const OF_TOOLS = ['tools', 'tool_choice', 'parallel_tool_calls']
const SEARCHES = Object.entries(SWITCHES).flatMap(([name, { cost }]) => (cost === 'web_search' ? [name] : []))
/** By it a body asks what the answer costs, which most upstreams do not know. */
const USAGE = 'usage'
/** Members that may go. */
export const REMOVABLE: ReadonlySet<string> = new Set([...OF_TOOLS, ...SEARCHES, USAGE])

const NOTHING = Buffer.alloc(0)
const NONE: readonly string[] = []

/** The members that go with the searches that are left out, and the one that asks what the answer costs. */
export function membersLeftOut({ leftOut, keepsTools, namesUsage }: Facts, readsUsage: boolean): readonly string[] {
  if (leftOut === null && !namesUsage) return NONE
  const names = new Set<string>(readsUsage || !namesUsage ? NONE : [USAGE])
  for (const { place } of leftOut ?? [])
    if (place !== null && 'member' in place) names.add(place.member)
    else if (place?.element.top && !keepsTools) for (const name of OF_TOOLS) names.add(name)
  return [...names]
}

/** The edits in lists that keep an element, or that stand inside an item. */
export function elementEdits({ leftOut, keepsTools }: Facts): Edit[] {
  const elements = new Set<ListElement>()
  for (const { place } of leftOut ?? [])
    if (place !== null && 'element' in place && (!place.element.top || keepsTools)) elements.add(place.element)
  return [...elements].map(({ start, end, before, next, follows }) => ({
    span: follows ? { start: before, end } : { start, end: next < 0 ? end : next },
    bytes: NOTHING,
  }))
}

/** The edits that take members out of a body. */
export function memberEdits({ removable }: Pick<Facts, 'removable'>, names: readonly string[]): Edit[] {
  const gone = removable.filter(({ name }) => names.includes(name))
  return gone.map(({ index, start, end, before, next }: Removable, earlier) => ({
    // behind a member that stays the comma before it goes, else the comma behind it
    span: index > earlier ? { start: before, end } : { start, end: next < 0 ? end : next },
    bytes: NOTHING,
  }))
}

// --- what a kind of provider wants to be said differently

/**
 * Members of a body of JSON that stand in the path at a provider, members that every request has there, and a header that stands in
 * the body. Everything else of the body stays as it is.
 */
export interface BodyRule {
  /** Members of the top-level object that are left out. */
  leftOut: readonly string[]
  /** Members that are put in, in the place of those that the client sent. */
  set: Readonly<Record<string, string | number>>
  /**
   * A header whose values, which commas part, also stand in a member, as a list. What the client put into that member never goes on:
   * channels decide by the header which values their upstream gets. null = there is none.
   */
  listed: { header: string; member: string } | null
  /** Texts before and behind the body, which is base64 between them. Absent: the body is sent as it is. */
  envelope?: readonly [before: string, behind: string]
}

/** By rule, and by the names of further members that are left out: the same object for the same, because scans are kept by it. */
const wider = new WeakMap<BodyRule, Map<string, BodyRule>>()

/** The rule with further members left out. `names` are some of the few that may be left out. */
export function ruleWithout(rule: BodyRule, names: readonly string[]): BodyRule {
  if (names.length === 0) return rule
  const key = names.join()
  const rules = wider.get(rule) ?? new Map<string, BodyRule>()
  wider.set(rule, rules)
  const found = rules.get(key) ?? { ...rule, leftOut: [...rule.leftOut, ...names] }
  rules.set(key, found)
  return found
}

/** The most members of a body that may go. Each of them is an edit, and one client could send a million of the same name. */
const MOST_GONE = 64

/** Finds in a body what a rule is about, while the body is handed on; it is one object that the gateway has read. */
export class RuleScan implements ScanEvents {
  readonly #rule: BodyRule
  readonly #names: ReadonlySet<string>
  readonly #scanner = new JsonScanner(this)
  /** The members that go: each from the end of the member before it (null = it is the first) to its own end. */
  readonly #gone: [before: number | null, end: number][] = []
  #before: number | null = null
  #firstStays = false
  /** The offset of the first member that stays; -1 = none was seen. */
  #firstKept = -1

  constructor(rule: BodyRule) {
    const { leftOut, set, listed } = rule
    this.#rule = rule
    this.#names = new Set([...leftOut, ...Object.keys(set), ...(listed === null ? [] : [listed.member])])
  }

  feed(piece: Buffer): void {
    this.#scanner.feed(piece)
  }

  wants(): number {
    return 0
  }

  member(key: string, _kind: string, _start: number, end: number): void {
    const goes = this.#names.has(key)
    if (!goes && this.#before === null) this.#firstStays = true
    if (!goes && this.#firstKept < 0) this.#firstKept = this.#scanner.keyStart
    if (goes && this.#gone.length <= MOST_GONE) this.#gone.push([this.#before, end])
    this.#before = end
  }

  /** All of the body was handed on. `headers`: `[name, value, …]`, as they go upstream. Throws when too many members would go. */
  edits(headers: readonly string[]): Edit[] {
    const { set, listed } = this.#rule
    if (this.#gone.length > MOST_GONE) throw new Error('the body says the same too often')
    const put: [name: string, value: string | number | readonly string[]][] = Object.entries(set)
    const values = listed === null ? [] : valuesOf(headers, listed.header)
    if (listed !== null && values.length > 0) put.push([listed.member, values])
    const { openedAt } = this.#scanner
    const text = put.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')
    const comma = text === '' || !this.#firstStays ? '' : ','
    // where nothing comes in the place of the first members, the comma behind them goes, too
    const start = text === '' && this.#firstKept > 0 ? this.#firstKept : openedAt
    return [
      { span: { start: openedAt, end: start }, bytes: Buffer.from(text + comma) },
      ...this.#gone
        .filter(([, end]) => end > start)
        .map(([before, end]) => ({ span: { start: before ?? openedAt, end }, bytes: NOTHING })),
    ]
  }
}

export function ruleEdits(chunks: readonly Buffer[], rule: BodyRule, headers: readonly string[]): Edit[] {
  const scan = new RuleScan(rule)
  for (const chunk of chunks) scan.feed(chunk)
  return scan.edits(headers)
}

const THREE_AS_BASE64 = 4

/** Returns how many bytes a body has in its envelope. */
export const wrappedLength = (bytes: number, [before, behind]: NonNullable<BodyRule['envelope']>): number =>
  before.length + Math.ceil(bytes / 3) * THREE_AS_BASE64 + behind.length

export const wrapped = (chunks: readonly Buffer[], [before, behind]: NonNullable<BodyRule['envelope']>): Buffer =>
  Buffer.from(before + Buffer.concat(chunks).toString('base64') + behind, 'latin1')

function valuesOf(headers: readonly string[], name: string): string[] {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text === name)
  const value = at < 0 ? '' : (headers[at + 1] as string)
  return value
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== '')
}
