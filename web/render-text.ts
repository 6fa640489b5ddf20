/**
 * Elements as HTML text: the same views that run in a browser are written into the document by the server, so that they
 * can be read at once and without a script. Views that are rendered here use no hooks.
 */
import type { VNode } from 'preact'

const EMPTY = new Set(['area', 'br', 'col', 'hr', 'img', 'input', 'link', 'meta', 'source', 'wbr'])
/** Attributes that Preact sets as properties, and what HTML calls them. */
const RENAMED: Record<string, string> = { htmlFor: 'for', className: 'class', defaultValue: 'value' }
const NAME = /^[a-zA-Z][\w:-]*$/

const escaped = (text: string): string => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

export function renderText(node: unknown): string {
  if (node === null || node === undefined || typeof node === 'boolean' || node === '') return ''
  if (typeof node === 'string' || typeof node === 'number') return escaped(String(node))
  if (Array.isArray(node)) return node.map(renderText).join('')
  const { type, props } = node as VNode<Record<string, unknown>>
  if (typeof type === 'function') return renderText((type as (properties: object) => unknown)(props))
  if (!NAME.test(type)) throw new Error('an element has no such name')
  const open = `<${type}${attributes(props)}>`
  return EMPTY.has(type) ? open : `${open}${renderText(props['children'])}</${type}>`
}

function attributes(props: Record<string, unknown>): string {
  let text = ''
  for (const [key, value] of Object.entries(props)) {
    if (key === 'children' || key === 'key' || key === 'ref' || typeof value === 'function') continue
    if (value === undefined || value === null || (value === false && !/^(aria|data)-/.test(key))) continue
    const name = RENAMED[key] ?? key
    if (!NAME.test(name)) throw new Error('an attribute has no such name')
    text += value === true && !/^(aria|data)-/.test(key) ? ` ${name}` : ` ${name}="${escaped(String(value))}"`
  }
  return text
}
