/**
 * A page as an HTML document, made on the server. Pages of DRAWN are written out with their content; all others have
 * their frame and heading, and ask the API for the rest.
 */
import { escaped } from '../lib/base/html.ts'
import { type Page, actions, heading, scripted } from './base/page.ts'
import { signedIn } from './base/session.ts'
import { theme } from './base/settings.ts'
import { putAway, site } from './base/site.ts'
import { inLanguage, language, words } from './base/words.ts'
import { frame, titleOf } from './frame.ts'
import { DRAWN } from './pages/drawn.ts'
import type { Given, Linked, RenderDocument } from './shared/given.ts'
import type { VNode } from 'preact'

const w = words({
  unscripted: [
    '此页面需要 JavaScript，请在浏览器中启用后重新打开。模型、价格与连接方法无需脚本即可查看。',
    'This page needs JavaScript: switch it on in your browser and open the page again. Models, prices and how to connect can be read without it.',
  ],
})

export const renderDocument: RenderDocument = (asked, linked) => {
  const page = DRAWN[asked.page] as Page<unknown> | undefined
  const given: Given = { ...asked, drawn: page !== undefined }
  // nothing below waits for anything, so the signals belong to this one document
  language.value = given.language
  theme.value = given.theme
  signedIn.value = given.signedIn
  site.value = given.site
  putAway.value = given.quiet ? 'all' : []
  scripted.value = false
  heading.value = null
  actions.value = null
  const body = renderText(frame(given, page === undefined ? null : page(given.data)))
  return `<!doctype html>
<html lang="${given.language === 'zh' ? 'zh-CN' : 'en'}"${given.theme === 'system' ? '' : ` data-theme="${given.theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${renderText(titleOf(given))}</title>
${about(given)}${links(linked)}
<script type="application/json" id="given">${inScript(given)}</script>
</head>
<body>
${given.drawn ? '' : `<noscript><p class="told warn">${renderText(w.unscripted())}</p></noscript>\n`}<div id="root">${body}</div>
</body>
</html>
`
}

/** What search engines and previews of links show of the front page. */
const about = ({ page, site }: Given): string =>
  page === 'home' && site.about !== null
    ? `<meta name="description" content="${escaped(inLanguage(site.about))}">\n`
    : ''

const links = ({ style, unscripted, colors, icon, script, preload }: Linked): string =>
  [
    `<link rel="stylesheet" href="${style}">`,
    ...(colors === null ? [] : [`<link rel="stylesheet" href="${colors}">`]),
    `<noscript><link rel="stylesheet" href="${unscripted}"></noscript>`,
    `<link rel="icon" href="${icon}">`,
    ...preload.map(address => `<link rel="modulepreload" href="${address}">`),
    `<script type="module" src="${script}"></script>`,
  ].join('\n')

/** JSON that cannot end the element in which it stands. */
const inScript = (given: Given): string => JSON.stringify(given).replaceAll('<', '\\u003c')

const EMPTY = new Set(['area', 'br', 'col', 'hr', 'img', 'input', 'link', 'meta', 'source', 'wbr'])
/** Attributes that Preact sets as properties, and what HTML calls them. */
const RENAMED: Record<string, string> = { htmlFor: 'for', className: 'class', defaultValue: 'value' }
const NAME = /^[a-zA-Z][\w:-]*$/

/**
 * Writes elements as HTML text: the same views that run in a browser are written into the document by the server, so that
 * they can be read at once and without a script. Views that are rendered here use no hooks.
 */
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
