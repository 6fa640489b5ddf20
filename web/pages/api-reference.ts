/** The reference of the models' API: each path that clients ask, what is sent, what it costs, and programs that ask; then what all share. */
import { signal } from '@preact/signals'
import type { ApiReferenceData } from '../../lib/console/answers.ts'
import {
  a,
  article,
  button,
  type Child,
  code,
  details,
  div,
  h2,
  h3,
  input,
  li,
  nav,
  p,
  section,
  span,
  summary,
  ul,
} from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { count } from '../base/money.ts'
import { scripted, type View } from '../base/page.ts'
import { inLanguage, words } from '../base/words.ts'
import { badge } from '../parts/badge.ts'
import { copyable, snippet } from '../parts/copy.ts'
import { empty } from '../parts/state.ts'
import { fill } from '../shared/fill.ts'
import { hrefTo } from '../shared/sitemap.ts'

const w = words({
  lead: [
    '用一个密钥调用模型的全部接口。没有列出的参数会原样传给上游。',
    'All paths by which models are asked with one key. Parameters that are not listed pass to the upstream as they are.',
  ],
  main: ['地址', 'Address'],
  direct: ['直连地址，没有 100 秒限制', 'Direct address, without the 100-second limit'],
  document: ['OpenAPI 文档', 'OpenAPI document'],
  console: ['控制台接口', 'Console API'],
  find: ['查找路径、参数或错误', 'Find a path, a parameter or an error'],
  none: ['没有符合的内容。', 'Nothing matches.'],
  clear: ['清除', 'Clear'],
  paths: ['路径', 'Paths'],
  parameters: ['参数', 'Parameters'],
  required: ['必填', 'required'],
  key: ['密钥', 'Key'],
  streams: ['可以流式返回', 'Can be streamed'],
  free: ['免费', 'Free of charge'],
  charged: ['计费', 'What is charged'],
  examples: ['示例', 'Examples'],
  headers: ['请求头', 'Headers'],
  asked: ['请求', 'Of requests'],
  answered: ['回答', 'Of answers'],
  limits: ['限制', 'Limits'],
  body: [(size: string) => `请求体最大 ${size}`, (size: string) => `A body has at most ${size}`],
  rate: [
    (requests: string, minutes: string) => `每个账户 ${minutes} 分钟内最多 ${requests} 次请求；分组或账户可以不同`,
    (requests: string, minutes: string) =>
      `An account makes at most ${requests} requests in ${minutes} min; a group or an account may have another rate`,
  ],
  unlimited: [
    '账户的请求速率不限；分组或账户可以不同',
    'The rate of an account has no limit; a group or an account may have one',
  ],
  silence: [
    '主地址在 100 秒没有响应数据时会超时（524）：请使用流式输出或直连地址',
    'The main address gives up after 100 seconds without response data (524): use streaming, or the direct address',
  ],
  errors: ['错误', 'Errors'],
  envelope: [
    '错误是 JSON：{"error": {"message", "type", "code"}}，message 带请求编号；messages 的路径另有 "type": "error"。上游的错误原样传回。',
    'An error is JSON: {"error": {"message", "type", "code"}}, and the message has the id of the request. Paths of messages have "type": "error" beside it. Errors of upstreams pass as they are.',
  ],
})

type ApiCall = ApiReferenceData['calls'][number]
type Parameter = ApiCall['body'][number]

const MIB = 1024 * 1024

export default function apiReference(data: ApiReferenceData): View {
  const find = signal('')
  return () => {
    const isFound = finder(find.value)
    const calls = data.calls.filter(call => isFound(textOf(call)))
    const refusals = data.refusals.filter(({ name, status, why, todo }) =>
      isFound(`${name} ${status} ${inLanguage(why)} ${inLanguage(todo)}`),
    )
    const headers = (rows: ApiReferenceData['asked']) =>
      rows.filter(({ name, what }) => isFound(`${name} ${inLanguage(what)}`))
    const [asked, answered] = [headers(data.asked), headers(data.answered)]
    return [
      p({ class: 'lead' }, w.lead()),
      addresses(data),
      scripted.value && searchBox(find),
      calls.length + refusals.length + asked.length + answered.length === 0 &&
        empty('search', w.none(), button({ type: 'button', onClick: () => (find.value = '') }, w.clear())),
      calls.length > 0 && contents(calls),
      calls.map(call => callPanel(call, data)),
      asked.length + answered.length > 0 && headersPanel(asked, answered),
      find.value === '' && limitsPanel(data),
      refusals.length > 0 && errorsPanel(refusals),
    ]
  }
}

/** Every word must be somewhere in the text. */
function finder(asked: string): (text: string) => boolean {
  const sought = asked.toLowerCase().split(/\s+/).filter(Boolean)
  return text => sought.every(word => text.toLowerCase().includes(word))
}

const textOf = ({ path, title, protocol, body, query }: ApiCall): string =>
  [
    path,
    title.zh,
    title.en,
    protocol ?? '',
    ...[...query, ...body].flatMap(({ name, what }) => [name, what.zh, what.en]),
  ].join(' ')

const addresses = ({ main, direct }: ApiReferenceData): Child =>
  section(
    { class: 'panel', 'aria-label': w.main() },
    div({ class: 'row' }, span({ class: 'soft' }, w.main()), copyable(main, w.main())),
    direct !== main && div({ class: 'row' }, span({ class: 'soft' }, w.direct()), copyable(direct, w.direct())),
    div(
      { class: 'row' },
      a({ href: '/openapi.json', class: 'button small' }, icon('download'), w.document()),
      a({ href: hrefTo('console-api') }, w.console()),
    ),
  )

const searchBox = (find: { value: string }): Child =>
  div(
    { class: 'search' },
    icon('search'),
    input({
      type: 'search',
      'aria-label': w.find(),
      placeholder: w.find(),
      value: find.value,
      onInput: event => (find.value = event.currentTarget.value),
    }),
  )

const contents = (calls: readonly ApiCall[]): Child =>
  nav(
    { class: 'panel', 'aria-label': w.paths() },
    ul(
      { class: 'names' },
      calls.map(({ id, method, path }) => li({ key: id }, a({ href: `#${id}` }, code({}, method, ' ', path)))),
    ),
  )

function callPanel(call: ApiCall, { main }: ApiReferenceData): Child {
  const { id, method, path, title, keys, query, body, streams, charged, examples } = call
  const values = { base: main, key: 'sk-…', model: 'MODEL', name: '' }
  return article(
    { class: 'panel stack', key: id, 'aria-labelledby': id },
    h2({ id, class: 'row' }, badge(method === 'GET' ? 'good' : 'warn', method), code({}, path)),
    p({ class: 'strong' }, inLanguage(title)),
    p({ class: 'hint' }, w.key(), ' ', keys.join(' · '), streams && ` · ${w.streams()}`),
    parameterList([...query, ...body]),
    p({}, charged === null ? w.free() : [span({ class: 'strong' }, w.charged()), ' ', inLanguage(charged)]),
    examples.length > 0 &&
      details(
        { class: 'unfolding' },
        summary({}, icon('down'), span({}, w.examples())),
        examples.map(({ title: name, syntax, text }) =>
          div({ key: name }, snippet(fill(text, syntax, values), `${name} · ${method} ${path}`)),
        ),
      ),
  )
}

const parameterList = (parameters: readonly Parameter[]): Child =>
  parameters.length > 0 &&
  div(
    { class: 'stack fields' },
    p({ class: 'strong' }, w.parameters()),
    ul(
      { class: 'changes' },
      parameters.map(({ name, type, required, what }) =>
        li(
          { key: name },
          code({ class: 'strong' }, name),
          ' ',
          code({ class: 'soft' }, type),
          required && [' ', span({ class: 'hint' }, w.required())],
          span({ class: 'under' }, inLanguage(what)),
        ),
      ),
    ),
  )

const headersPanel = (asked: ApiReferenceData['asked'], answered: ApiReferenceData['asked']): Child =>
  section(
    { class: 'panel stack', 'aria-labelledby': 'headers' },
    h2({ id: 'headers' }, w.headers()),
    headerList(w.asked(), asked),
    headerList(w.answered(), answered),
  )

const headerList = (title: string, rows: ApiReferenceData['asked']): Child =>
  rows.length > 0 && [
    h3({}, title),
    ul(
      { class: 'changes' },
      rows.map(({ name, what }) =>
        li({ key: name }, code({ class: 'strong' }, name), span({ class: 'under' }, inLanguage(what))),
      ),
    ),
  ]

const limitsPanel = ({ limits: { bodyBytes, rate } }: ApiReferenceData): Child =>
  section(
    { class: 'panel stack', 'aria-labelledby': 'limits' },
    h2({ id: 'limits' }, w.limits()),
    ul(
      { class: 'changes' },
      li({}, w.body(`${count(bodyBytes / MIB)} MiB`)),
      li({}, rate === null ? w.unlimited() : w.rate(count(rate.requests), count(rate.minutes))),
      li({}, w.silence()),
    ),
  )

const errorsPanel = (refusals: ApiReferenceData['refusals']): Child =>
  section(
    { class: 'panel stack', 'aria-labelledby': 'errors' },
    h2({ id: 'errors' }, w.errors()),
    p({ class: 'soft' }, w.envelope()),
    ul(
      { class: 'facts' },
      refusals.map(({ name, status, why, todo }) =>
        li({ key: name }, code({}, status), span({}, inLanguage(why), ' ', inLanguage(todo))),
      ),
    ),
  )
