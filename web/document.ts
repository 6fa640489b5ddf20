/**
 * A page as an HTML document, made on the server. Pages of DRAWN are written out with their content; all others have
 * their frame and heading, and ask the API for the rest.
 */

import { frame, titleOf } from './frame.ts'
import type { Given, Linked, RenderDocument } from './shared/given.ts'
import { actions, heading, type Page, scripted } from './page.ts'
import connect from './pages/connect.ts'
import missing from './pages/missing.ts'
import model from './pages/model.ts'
import models from './pages/models.ts'
import status from './pages/status.ts'
import { renderText } from './render-text.ts'
import { signedIn } from './session.ts'
import { theme } from './settings.ts'
import type { PageName } from './shared/sitemap.ts'
import { language } from './words.ts'

/** Pages that can be read without a script. Their data comes with the document. */
const DRAWN: Partial<Record<PageName, Page<never>>> = { connect, missing, model, models, status }

export const renderDocument: RenderDocument = (asked, linked) => {
  const page = DRAWN[asked.page] as Page<unknown> | undefined
  const given: Given = { ...asked, drawn: page !== undefined }
  // nothing below waits for anything, so the signals belong to this one document
  language.value = given.language
  theme.value = given.theme
  signedIn.value = given.signedIn
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
${links(linked)}
<script type="application/json" id="given">${inScript(given)}</script>
</head>
<body>
<div id="root">${body}</div>
</body>
</html>
`
}

const links = ({ style, unscripted, icon, script, preload, importMap }: Linked): string =>
  [
    `<link rel="stylesheet" href="${style}">`,
    `<noscript><link rel="stylesheet" href="${unscripted}"></noscript>`,
    `<link rel="icon" type="image/svg+xml" href="${icon}">`,
    `<script type="importmap">${importMap}</script>`,
    ...preload.map(address => `<link rel="modulepreload" href="${address}">`),
    `<script type="module" src="${script}"></script>`,
  ].join('\n')

/** JSON that cannot end the element in which it stands. */
const inScript = (given: Given): string => JSON.stringify(given).replaceAll('<', '\\u003c')
