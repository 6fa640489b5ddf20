/**
 * Elements as typed functions: `a({ href }, 'text')`. The compiler checks attributes, events and children, which it would
 * not do for templates, and nothing that a page shows ever passes through a parser of HTML: text is text.
 *
 * Preact's own `h` takes any attributes for an element, so no other file uses it for elements; a test looks for that.
 */
import { type ComponentType, type FunctionComponent, h, type JSX, type VNode } from 'preact'

/** What may stand inside an element. Objects are left out, because a page would show them as `[object Object]`. */
export type Child = VNode | string | number | false | null | undefined | readonly Child[]

type Attributes<K extends keyof JSX.IntrinsicElements> = Omit<JSX.IntrinsicElements[K], 'children'> & {
  [data: `data-${string}`]: string | undefined
}

const element =
  <K extends keyof JSX.IntrinsicElements>(name: K) =>
  (attributes: Attributes<K>, ...children: Child[]): VNode =>
    h(name as string, attributes as object, ...(children as VNode[]))

/** A component, with its properties. Components are for what has a life of its own, such as a chart. */
export const use = <P extends object>(component: FunctionComponent<P> | ComponentType<P>, properties: P): VNode =>
  h(component as FunctionComponent<P>, properties) as VNode

export const a = element('a')
export const article = element('article')
export const button = element('button')
export const caption = element('caption')
export const code = element('code')
export const dd = element('dd')
export const details = element('details')
export const dialog = element('dialog')
export const div = element('div')
export const dl = element('dl')
export const dt = element('dt')
export const fieldset = element('fieldset')
export const figcaption = element('figcaption')
export const figure = element('figure')
export const footer = element('footer')
export const form = element('form')
export const h1 = element('h1')
export const h2 = element('h2')
export const h3 = element('h3')
export const header = element('header')
export const input = element('input')
export const label = element('label')
export const legend = element('legend')
export const li = element('li')
export const main = element('main')
export const meter = element('meter')
export const nav = element('nav')
export const ol = element('ol')
export const option = element('option')
export const output = element('output')
export const p = element('p')
export const pre = element('pre')
export const section = element('section')
export const select = element('select')
export const small = element('small')
export const span = element('span')
export const strong = element('strong')
export const summary = element('summary')
export const table = element('table')
export const tbody = element('tbody')
export const td = element('td')
export const textarea = element('textarea')
export const tfoot = element('tfoot')
export const th = element('th')
export const thead = element('thead')
export const time = element('time')
export const tr = element('tr')
export const ul = element('ul')

/** Preact's types of pictures are a union, of which `Omit` leaves what all have in common. */
export const img = (attributes: { class?: string; key?: string | number; src: string; alt: string }): VNode =>
  h('img', attributes as object)

export const svg = element('svg')
export const g = element('g')
export const path = element('path')
export const rect = element('rect')
export const line = element('line')
export const svgPattern = element('pattern')
export const svgText = element('text')
export const svgTitle = element('title')
