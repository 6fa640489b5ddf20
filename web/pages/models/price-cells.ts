/** Prices and states of models as they stand in tables. */
import type { VNode } from 'preact'
import type { CatalogueModel, ModelState } from '../../../lib/operations/catalogue/public-catalogue.ts'
import { type Child, span } from '../../base/element.ts'
import { compact, unitPrice } from '../../base/money.ts'
import { badge, type Tone } from '../../parts/badge.ts'
import { stamp } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import { imagesOf } from './choose.ts'

const w = words({
  available: ['可用', 'Available'],
  offline: ['暂时下线', 'Temporarily offline'],
  resting: ['暂停中', 'Resting'],
  unpriced: ['未定价', 'Not priced'],
  since: [(at: string) => `自 ${at}`, (at: string) => `since ${at}`],
  over: [
    (tokens: string, price: string) => `提示超过 ${tokens}：${price}`,
    (tokens: string, price: string) => `over ${tokens}: ${price}`,
  ],
  cache_write_5m: [(price: string) => `写入 5 分钟 ${price}`, (price: string) => `write 5 min ${price}`],
  cache_write_1h: [(price: string) => `写入 1 小时 ${price}`, (price: string) => `write 1 h ${price}`],
  image: [
    (kind: string, price: string) => `每张图片（${kind}） ${price}`,
    (kind: string, price: string) => `picture (${kind}) ${price}`,
  ],
  plainImage: [(price: string) => `每张图片 ${price}`, (price: string) => `picture ${price}`],
  base64Only: ['图片仅以 base64 返回', 'pictures as base64 only'],
  request: [(price: string) => `每次请求 ${price}`, (price: string) => `request ${price}`],
  web_search: [(price: string) => `每次联网搜索 ${price}`, (price: string) => `web search ${price}`],
  maps: [(price: string) => `每次地图调用 ${price}`, (price: string) => `maps ${price}`],
  code_execution: [(price: string) => `每次代码执行 ${price}`, (price: string) => `code execution ${price}`],
  container: [
    (size: string, price: string) => `每个容器（${size}） ${price}`,
    (size: string, price: string) => `container (${size}) ${price}`,
  ],
  tool: [
    (name: string, price: string) => `每次工具调用（${name}） ${price}`,
    (name: string, price: string) => `tool (${name}) ${price}`,
  ],
  second: [(price: string) => `每秒 ${price}`, (price: string) => `second ${price}`],
  character: [(price: string) => `每百万字符 ${price}`, (price: string) => `million characters ${price}`],
  input_audio: [(price: string) => `音频输入 ${price}`, (price: string) => `sound in ${price}`],
  output_audio: [(price: string) => `音频输出 ${price}`, (price: string) => `sound out ${price}`],
  input_image: [(price: string) => `图片输入 ${price}`, (price: string) => `pictures in ${price}`],
  output_image: [(price: string) => `图片输出 ${price}`, (price: string) => `pictures out ${price}`],
  cache_read_audio: [(price: string) => `音频缓存读取 ${price}`, (price: string) => `cached sound ${price}`],
  cache_read_image: [(price: string) => `图片缓存读取 ${price}`, (price: string) => `cached pictures ${price}`],
})

export const CLASSES = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output'] as const

const TONES: Record<ModelState, Tone> = { available: 'good', offline: 'warn', resting: 'warn', unpriced: 'plain' }

export const stateCell = ({ state, since }: Pick<CatalogueModel, 'state' | 'since'>): Child => [
  badge(TONES[state], w[state]()),
  since !== null && span({ class: 'under' }, w.since(stamp(since, false))),
]

/** The price of a class, and below it what it costs with larger prompts. */
export function classCell({ price }: Pick<CatalogueModel, 'price'>, name: string): Child {
  const lists = (price?.lists ?? []).filter(list => list.prices[name] !== undefined)
  return lists.map(({ over, prices }): VNode => {
    const shown = unitPrice(prices[name] as string)
    return over === null
      ? span({ key: 'base' }, shown)
      : span({ key: over, class: 'under' }, w.over(compact(over), shown))
  })
}

const WRITES = ['cache_write_5m', 'cache_write_1h'] as const

/** What reading from the cache costs, and writing to it where that is not charged as other input. */
export const cacheCell = (model: Pick<CatalogueModel, 'price'>): Child => {
  const { prices } = model.price?.lists[0] ?? {}
  return [
    classCell(model, 'cache_read'),
    WRITES.filter(name => prices?.[name] !== undefined && prices[name] !== prices['input']).map(name =>
      span({ key: name, class: 'under' }, w[name](unitPrice(prices?.[name] as string))),
    ),
  ]
}

const OTHERS = [
  'request',
  'web_search',
  'maps',
  'code_execution',
  'second',
  'character',
  'input_audio',
  'output_audio',
  'input_image',
  'output_image',
  'cache_read_audio',
  'cache_read_image',
] as const

/** What has no column of its own. */
export function otherCell(model: Pick<CatalogueModel, 'price' | 'image_form'>): VNode[] {
  const base = model.price?.lists[0]
  const images = Object.entries(imagesOf(model)).map(([kind, price]) =>
    kind === 'default' ? w.plainImage(unitPrice(price)) : w.image(kind, unitPrice(price)),
  )
  const others = OTHERS.flatMap(name =>
    base?.prices[name] === undefined ? [] : [w[name](unitPrice(base.prices[name]))],
  )
  const ofTools = Object.entries(base?.prices ?? {}).flatMap(([path, price]) => {
    const [kind, name] = [path.slice(0, path.indexOf('.')), path.slice(path.indexOf('.') + 1)]
    if (kind === 'container') return w.container(name, unitPrice(price))
    return kind === 'tools' ? w.tool(name, unitPrice(price)) : []
  })
  const form = model.image_form === 'base64' ? [w.base64Only()] : []
  return [...images, ...form, ...others, ...ofTools].map(line => span({ key: line, class: 'under' }, line))
}
