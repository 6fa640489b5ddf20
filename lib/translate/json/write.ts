/** Puts JSON text together of pieces that are JSON already. */
import { type Literal, literal, type Source } from './literal.ts'

/** An object: members that are undefined are left out. Names are ASCII. */
export function object(members: Readonly<Record<string, Source | undefined>>): Source {
  let text = ''
  for (const name in members) {
    const value = members[name]
    if (value !== undefined) text += `${text === '' ? '' : ','}"${name}":${value}`
  }
  return `{${text}}`
}

export const array = (elements: readonly Source[]): Source => `[${elements.join(',')}]`

/** `{"type":"…", …}`, the form of nearly everything. */
export const typed = (type: string, members: Readonly<Record<string, Source | undefined>>): Source =>
  object({ type: `"${type}"`, ...members })

/** A member that is left out where there is no value. */
export const optional = (value: string | null | undefined): Literal | undefined =>
  value === null || value === undefined ? undefined : literal(value)
