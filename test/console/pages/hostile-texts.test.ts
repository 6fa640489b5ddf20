/**
 * Whatever people, clients and operators write somewhere is text on every page: markup, addresses that are scripts,
 * templates, and characters that turn the direction of a line.
 */
import t from 'tap'
import { isOwn, PAGES } from '../../../web/shared/sitemap.ts'
import { browserTest } from '../support/browser.ts'
import { furnish, type Names, PLACES } from '../support/furnished.ts'
import { giveSession } from '../support/pages.ts'

/** As long as an address in the books may be; the others are as long as a name. */
const SHORT = '<b onclick=a>'
const TEXTS: Names = {
  account: '<img src=x onerror="window.ran=1">',
  person: '</script><script>window.ran=2</script>',
  key: '"><svg/onload=window.ran=3>',
  model: "javascript:window.ran=4//'-alert(1)-'",
  vendor: '<b onclick="window.ran=11">vendor</b>',
  family: '<iframe srcdoc="<script>parent.ran=5</script>">',
  group: '{{constructor.constructor("window.ran=6")()}}',
  channel: '<base href="https://elsewhere.example/">',
  reference: '<%= window.ran=7 %><style>*{display:none}</style>',
  note: '<a href="javascript:window.ran=8">here</a>',
  token: '\u202e<object data=x>\u2066 gnp.elif',
  passkey: '<details open ontoggle="window.ran=12">',
  agent: '<script>window.ran=9</script> Chrome/1 \u202e',
  requestId: "'-window.ran=10-'<math><mi xlink:href='javascript:ran=10'>",
  address: SHORT,
}

browserTest(t, 'texts of others are shown as texts, on every page', async (t, newcomer) => {
  const at = await furnish(t, TEXTS)
  const visitor = await newcomer({ language: 'en-US' })
  const { page, complaints, requested } = visitor
  const dialogs: string[] = []
  page.on('dialog', dialog => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  let texts = ''
  const look = async (path: string) => {
    await visitor.visit(`${at.house.url}/console${path}`)
    await visitor.drawn()
    const found = await page.evaluate(() => ({
      ran: Reflect.get(window, 'ran') as unknown,
      // what pages themselves never have, and what only one of the texts could have made
      made: [
        ...document.querySelectorAll(
          'img, iframe, object, embed, base, math, style, main script, [onerror], [onload], [onclick], [srcdoc]',
        ),
      ].map(node => node.outerHTML.slice(0, 100)),
      links: [...document.querySelectorAll<HTMLAnchorElement>('a[href], form[action]')]
        .map(link => link.getAttribute('href') ?? link.getAttribute('action') ?? '')
        .filter(href => !/^(\/console|\/openapi\.json$|#|https?:|[a-z-]+:\/\/)/.test(href) && href !== ''),
      text: document.body.innerText,
    }))
    t.equal(found.ran, undefined, `${path}: nothing ran`)
    t.same(found.made, [], `${path}: nothing was made`)
    t.same(found.links, [], `${path}: links lead to pages`)
    texts += found.text
  }
  for (const own of [false, true]) {
    if (own) await giveSession(visitor, at.house, at)
    for (const { name } of PAGES) if (isOwn(name) === own) for (const path of PLACES[name](at)) await look(path)
  }
  for (const name of [
    'account',
    'person',
    'key',
    'model',
    'group',
    'reference',
    'token',
    'passkey',
    'requestId',
  ] as const)
    t.ok(texts.includes(TEXTS[name].replaceAll(/\s+/g, ' ')), `${name} is shown as it is: ${TEXTS[name]}`)
  t.same(dialogs, [])
  t.same(complaints, [], 'the policy had nothing to refuse')
  t.ok(requested.every(url => url.startsWith(at.house.url)))
})
