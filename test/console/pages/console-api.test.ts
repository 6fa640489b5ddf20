/** The reference of the API: what it says follows from the document, and it makes no call but for that. */
import t from 'tap'
import { OPERATIONS } from '../../../lib/console/api/rows.ts'
import { bodyOf, callsOf, type Document, typeOf } from '../../../web/pages/reference/document.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, openConsole } from '../support/pages.ts'

browserTest(t, 'everybody reads it, operators more of it', async (t, newcomer) => {
  const house = await openConsole(t)
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints, requested } = visitor
  await visit(`${house.url}/console/console-api#keys.create`)
  const heading = page.locator('[id="keys.create"]')
  await heading.waitFor()
  const shown = await page.locator('h3[id*="."]').count()
  t.equal(shown, OPERATIONS.filter(({ who }) => who !== 'operator').length)
  // the anchor leads to its call
  await page.waitForFunction(
    id => scrollY > 0 && (document.getElementById(id) as HTMLElement).getBoundingClientRect().top < innerHeight,
    'keys.create',
  )
  const call = page.getByRole('article', { name: 'POST /console/api/accounts/{account}/keys', exact: true })
  t.match(await call.innerText(), /Make a key[\s\S]*name string[\s\S]*required[\s\S]*Answer 201 NewKey[\s\S]*409/)
  t.match(await call.locator('pre').innerText(), /curl -X POST '.*\/console\/api\/accounts\/\{account\}\/keys'/)
  await call.getByRole('link', { name: 'NewKey' }).click()
  await page.waitForURL(url => url.hash === '#record-NewKey')
  t.ok(await page.locator('[id="record-NewKey"]').isVisible())
  t.equal(await page.getByText('users.reset').count(), 0)
  t.same(await visitor.axe(), [])
  await page.getByRole('searchbox').fill('roll')
  await page.waitForFunction(() => document.querySelectorAll('h3[id*="."]').length === 1)
  await page.getByRole('searchbox').fill('nothing of the kind')
  await page.getByText('No call matches.').waitFor()
  t.same(
    requested.filter(url => /\/console\/(api\/|openapi)/.test(url)).map(url => new URL(url).pathname),
    ['/console/openapi.json'],
  )

  const operator = await newcomer({ language: 'en-US' })
  await giveSession(operator, house, await house.person('op@example.org', { operator: true, factor: true }))
  await operator.visit(`${house.url}/console/console-api`)
  await operator.page.locator('[id="users.reset"]').waitFor()
  t.equal(await operator.page.locator('h3[id*="."]').count(), OPERATIONS.length)
  t.same([...complaints, ...operator.complaints], [])
})

t.test('types and examples', async t => {
  t.same(typeOf({ $ref: '#/components/schemas/Key' }), { text: 'Key', record: 'Key' })
  t.same(typeOf({ type: 'array', items: { $ref: '#/components/schemas/Key' } }), { text: 'Key[]', record: 'Key' })
  t.same(typeOf({ anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] }), {
    text: 'string (date-time) | null',
    record: null,
  })
  t.same(typeOf({ enum: ['a', 1] }).text, '"a" | 1')
  t.same(typeOf({}).text, 'any')
  t.same(bodyOf({ properties: { a: { type: 'string' }, b: {}, c: { enum: ['x'] } }, required: ['a', 'c'] }), {
    a: '…',
    c: 'x',
  })
  const document: Document = {
    paths: {
      '/api/a': {
        get: {
          operationId: 'a.read',
          tags: ['a'],
          summary: 's',
          description: 'd',
          security: [{}],
          parameters: [],
          responses: { '204': {}, '400': {} },
        },
      },
    },
    components: { schemas: {} },
  }
  t.match(callsOf(document), [
    { id: 'a.read', method: 'GET', open: true, status: '204', answer: null, refusals: ['400'] },
  ])
})
