/**
 * The edits that leave a search out of a body: an element of a list of tools, or a member of the body. A list of the body
 * that has no tool any more goes with all that is said of it, because upstreams refuse a choice among no tools. Everything
 * else keeps its bytes.
 */
import type { Removable } from './draft.ts'
import type { Edit } from './edit.ts'
import type { Facts } from './facts.ts'
import { type ListElement, SWITCHES } from './words/server-tools.ts'

const OF_TOOLS = ['tools', 'tool_choice', 'parallel_tool_calls']
const SEARCHES = Object.entries(SWITCHES).flatMap(([name, { cost }]) => (cost === 'web_search' ? [name] : []))
/** Members that may go. */
export const REMOVABLE: ReadonlySet<string> = new Set([...OF_TOOLS, ...SEARCHES])

const NOTHING = Buffer.alloc(0)
const NONE: readonly string[] = []

/** The members that go with the searches that are left out. */
export function membersLeftOut({ leftOut, keepsTools }: Facts): readonly string[] {
  if (leftOut === null) return NONE
  const names = new Set<string>()
  for (const { place } of leftOut)
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
