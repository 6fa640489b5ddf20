/**
 * The reference of the console's API, made from the document that describes it. It makes no call but that for the document.
 * Its own texts are in both languages; those of the document are in English.
 */
import { signal } from '@preact/signals'
import { Refused } from '../base/ask.ts'
import {
  a,
  article,
  button,
  type Child,
  code,
  div,
  h2,
  h3,
  input,
  li,
  nav,
  p,
  section,
  span,
  ul,
} from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { load } from '../base/load.ts'
import type { View } from '../base/page.ts'
import { badge, type Tone } from '../parts/badge.ts'
import { snippet } from '../parts/copy.ts'
import { empty, whenLoaded } from '../parts/state.ts'
import { words } from '../base/words.ts'
import {
  bodyOf,
  type Call,
  callsOf,
  type Document,
  type Field,
  fieldsOf,
  type Schema,
  typeOf,
} from './reference/document.ts'

const w = words({
  lead: [
    '控制台页面所用的全部接口，程序也可以使用。请求时带上在“安全”页创建的个人令牌。',
    'All calls behind the pages of the console. Programs may make them too, with a personal token from the page Security.',
  ],
  english: [
    '接口说明为英文。金额是六位小数的人民币文本，时间是 UTC 的 ISO 8601 文本。',
    'Money is text with six decimals in CNY; times are ISO 8601 in UTC.',
  ],
  document: ['OpenAPI 文档：', 'The OpenAPI document: '],
  unreachable: ['没有收到网关的回答，请稍后再试', 'No answer came from the gateway: try again later'],
  find: ['查找接口', 'Find a call'],
  none: ['没有符合的接口。', 'No call matches.'],
  clear: ['清除', 'Clear'],
  calls: ['接口', 'Calls'],
  schemas: ['数据结构', 'Records'],
  parameters: ['参数', 'Parameters'],
  body: ['请求内容', 'Body'],
  answer: [(status: string) => `回答 ${status}`, (status: string) => `Answer ${status}`],
  refusals: ['可能的拒绝', 'Refusals'],
  nothing: ['没有内容', 'No content'],
  required: ['必填', 'required'],
  example: ['示例', 'Example'],
})

const METHOD_TONES: Record<string, Tone> = { GET: 'good', DELETE: 'bad' }

async function readDocument(): Promise<Document> {
  const response = await fetch('/console/openapi.json', { credentials: 'same-origin', redirect: 'error' }).catch(
    () => null,
  )
  if (!response?.ok) throw new Refused(response?.status ?? 0, 'unreachable', w.unreachable())
  return (await response.json()) as Document
}

export default function consoleApi(): View {
  const described = load(readDocument)
  const find = signal('')
  // the browser looked for the anchor of the address before there was anything
  described.value.subscribe(all => {
    if (all !== null) requestAnimationFrame(() => anchored()?.scrollIntoView())
  })
  return () => [
    p({ class: 'lead' }, w.lead()),
    p({ class: 'soft' }, w.english(), ' ', w.document(), code({}, '/console/openapi.json')),
    whenLoaded(described, all => {
      const calls = callsOf(all).filter(call => matches(call, find.value))
      return div(
        { class: 'stack' },
        div({ class: 'search' }, icon('search'), searchBox(find)),
        calls.length === 0
          ? empty('search', w.none(), button({ type: 'button', onClick: () => (find.value = '') }, w.clear()))
          : [contents(calls), groupsOf(calls).map(([tag, some]) => group(tag, some)), records(all, find.value)],
      )
    }),
  ]
}

const anchored = (): HTMLElement | null => document.getElementById(decodeURIComponent(location.hash.slice(1)))

const searchBox = (find: { value: string }): Child =>
  input({
    type: 'search',
    'aria-label': w.find(),
    placeholder: w.find(),
    value: find.value,
    onInput: event => (find.value = event.currentTarget.value),
  })

const matches = ({ id, path, summary }: Call, text: string): boolean =>
  `${id} ${path} ${summary}`.toLowerCase().includes(text.trim().toLowerCase())

function groupsOf(calls: readonly Call[]): [tag: string, calls: Call[]][] {
  const groups = new Map<string, Call[]>()
  for (const call of calls) groups.set(call.tag, [...(groups.get(call.tag) ?? []), call])
  return [...groups]
}

const contents = (calls: readonly Call[]): Child =>
  nav(
    { class: 'panel', 'aria-label': w.calls() },
    ul(
      { class: 'names' },
      calls.map(({ id, method, path }) =>
        li({ key: id }, a({ href: `#${id}` }, code({}, method, ' ', path.replace(/^\/api/, '')))),
      ),
    ),
  )

const group = (tag: string, calls: readonly Call[]): Child =>
  section(
    { class: 'panel', key: tag, 'aria-labelledby': `tag-${tag}` },
    h2({ id: `tag-${tag}` }, tag),
    calls.map(call => article({ key: call.id, class: 'stack', 'aria-labelledby': call.id }, callShown(call))),
  )

const callShown = (call: Call): Child => [
  h3(
    { id: call.id, class: 'row' },
    badge(METHOD_TONES[call.method] ?? 'warn', call.method),
    code({}, `/console${call.path}`),
  ),
  p({}, call.summary),
  p({ class: 'hint' }, call.rules),
  call.parameters.length > 0 && fields(w.parameters(), call.parameters),
  call.body !== null && fields(w.body(), fieldsOf(call.body), call.body),
  call.answer === null
    ? p({ class: 'soft' }, `${w.answer(call.status)} · ${w.nothing()}`)
    : fields(w.answer(call.status), fieldsOf(call.answer), call.answer),
  p({ class: 'hint' }, w.refusals(), ' ', call.refusals.join(' · ')),
  snippet(example(call), `${w.example()} · ${call.id}`),
]

function example({ method, path, body, open }: Call): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${location.origin}/console${path}'`]
  if (!open) lines.push("-H 'authorization: Bearer gwp_…'")
  if (body !== null) lines.push("-H 'content-type: application/json'", `-d '${JSON.stringify(bodyOf(body))}'`)
  return lines.join(' \\\n  ')
}

/** `whole`: the record that the fields are of, which may be one with a name. */
const fields = (title: string, rows: readonly Field[], whole?: Schema): Child =>
  div(
    { class: 'stack fields' },
    p({}, span({ class: 'strong' }, title), whole && [' ', typed(whole)]),
    rows.length > 0 &&
      ul(
        { class: 'changes' },
        rows.map(row => li({ key: row.name }, field(row))),
      ),
  )

const field = ({ name, schema, required, description }: Field): Child => [
  code({ class: 'strong' }, name),
  ' ',
  typed(schema),
  required && [' ', span({ class: 'hint' }, w.required())],
  description !== '' && span({ class: 'under' }, description),
]

/** The type in a word; a record with a name leads to where it is described. */
function typed(schema: Schema): Child {
  const { text, record } = typeOf(schema)
  return record === null ? code({ class: 'soft' }, text) : a({ href: `#record-${record}` }, code({}, text))
}

const records = ({ components }: Document, text: string): Child =>
  text === '' &&
  section(
    { class: 'panel', 'aria-labelledby': 'records' },
    h2({ id: 'records' }, w.schemas()),
    Object.entries(components.schemas).map(([name, schema]) =>
      article(
        { key: name, class: 'stack', 'aria-labelledby': `record-${name}` },
        h3({ id: `record-${name}` }, code({}, name)),
        schema.description !== undefined && p({ class: 'hint' }, schema.description),
        ul(
          { class: 'changes' },
          fieldsOf(schema).map(row => li({ key: row.name }, field(row))),
        ),
      ),
    ),
  )
