/**
 * The playground: a model is talked to on a key whose secret nobody enters. The request is an ordinary one of that key, and what it says is
 * stored nowhere.
 */
import t from 'tap'
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { CLIENTS } from '../../../lib/console/clients.ts'
import { type CodePiece, codesOf } from '../../../web/pages/playground/code.ts'
import { type Asked, type Piece, SPOKEN } from '../../../web/pages/playground/spoken.ts'
import { KEY, testCatalog } from '../../support/gateway.ts'
import { openGateway } from '../../support/open-gateway.ts'
import { browserTest } from '../support/browser.ts'
import { liveIn } from '../support/live.ts'
import { PYTHON_MISSING, runPrograms } from '../support/programs.ts'

/** A pixel. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SECRET_WORDS = 'a text that nobody keeps'

const gateway = await openGateway({
  catalog: upstream => {
    const catalog = testCatalog(upstream) as { groups: object[] }
    return { ...catalog, groups: catalog.groups.map(group => ({ ...group, public: true })) }
  },
})
t.teardown(() => gateway.stop())

browserTest(
  t,
  'a conversation on a key by its id, with pictures in and out, its cost and its receipt',
  async (t, newcomer) => {
    const { cookie, account } = await liveIn(t, gateway, 'rich', 'owner')
    const visitor = await newcomer({ language: 'en-US' })
    const { page, context, visit, complaints } = visitor
    const [name = '', value = ''] = cookie.split('=')
    await context.addCookies([{ name, value, url: gateway.main }])
    await visit(`${gateway.main}/console/playground?account=${account}`)
    const send = async (text: string) => {
      await page.fill('#message', text)
      await page.keyboard.press('Control+Enter')
    }
    const turns = page.locator('.turn.assistant')
    for (const [at, protocol] of ['chat', 'messages', 'responses', 'generate'].entries()) {
      await page.locator('#model').selectOption('beta-4.7')
      await page.locator('#protocol').selectOption(protocol)
      await page
        .locator('#pictures')
        .setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from(PICTURE, 'base64') })
      await page.locator('.thumb').waitFor()
      await send(`${SECRET_WORDS} ${at}`)
      await turns
        .nth(at)
        .getByText(/^Cost ¥0\.\d{6}/)
        .waitFor()
      t.not(await turns.nth(at).locator('.said').last().innerText(), '', protocol)
      t.equal(await turns.nth(at).locator('.told').count(), 0, protocol)
    }
    t.equal(await page.locator('.turn.user img').count(), 4, 'what was shown to the model is shown')
    const [row] = await gateway.usage('rich', 4)
    t.match(row, { model: 'beta-4.7', status: 200, end: 'completed' })
    const receipt = await turns.first().getByRole('link', { name: 'Receipt' }).getAttribute('href')
    t.match(receipt, /^\/console\/requests\/\w+\?account=/)
    t.same(await visitor.axe(), [])

    await page.getByText('The request as code').click()
    const code = page.locator('#code-openai-js-panel, #code-google-sdk-panel').first()
    await page.locator('#model').selectOption('gamma-image-2')
    await page.locator('#message').fill('a lighthouse')
    await page.locator('#code-openai-js').click()
    t.match(await code.innerText(), /client\.images\.generate\(\{ model: "gamma-image-2", prompt: "a lighthouse" \}\)/)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await turns.nth(4).locator('img, a[target=_blank]').first().waitFor()
    await turns
      .nth(4)
      .getByText(/^Cost ¥0\.28/)
      .waitFor()

    await page.getByRole('button', { name: 'New conversation' }).click()
    t.equal(await turns.count(), 0)
    t.same(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0])
    t.same(complaints, [])
    for (const file of readdirSync(gateway.folder, { recursive: true, encoding: 'utf8' }))
      if (/gateway\.db|journal/.test(file))
        t.notOk(readIfFile(path.join(gateway.folder, file)).includes(SECRET_WORDS), file)
  },
)

function readIfFile(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}

const ASKED: Asked = {
  model: 'beta-4.7',
  turns: [
    { role: 'user', text: `it's "one"\n{key}`, pictures: [] },
    { role: 'assistant', text: 'yes', pictures: [] },
    { role: 'user', text: 'and two?', pictures: [] },
  ],
  system: 'Be short.',
  mostOutput: 100,
  temperature: 0.5,
  size: '',
}

t.test('the request as code runs in every client that speaks the protocol', async t => {
  const codes = Object.keys(SPOKEN).flatMap(protocol =>
    codesOf(CLIENTS, gateway.main, protocol, protocol === 'images' ? { ...ASKED, model: 'gamma-image-2' } : ASKED),
  )
  const languageOf = ({ client, title }: CodePiece) =>
    client === 'curl' ? 'sh' : title.startsWith('Python') ? 'python' : 'js'
  for (const language of ['js', 'python', 'sh'] as const) {
    if (language === 'python' && PYTHON_MISSING !== null) {
      t.pass(PYTHON_MISSING)
      continue
    }
    const all = codes.filter(code => languageOf(code) === language)
    t.ok(all.length >= 5, `${all.length} in ${language}`)
    const ran = await runPrograms(
      language,
      all.map(({ text }) => text.replaceAll('sk-…', KEY).replace('curl ', 'curl -sS --fail-with-body ')),
    )
    for (const [i, { failed, said }] of ran.entries()) {
      t.equal(failed, null, `${all[i]?.client} ${all[i]?.title} ${failed}`)
      t.not(said, '', String(all[i]?.title))
    }
  }
})

t.test('events of each protocol', async t => {
  const rows: [protocol: string, event: Record<string, unknown>, pieces: Piece[]][] = [
    ['chat', { choices: [{ delta: { content: 'a', reasoning_content: 'b' } }] }, [{ thought: 'b' }, { text: 'a' }]],
    ['chat', { choices: [{ delta: { images: [{ image_url: { url: 'data:x' } }] } }] }, [{ picture: 'data:x' }]],
    ['chat', { error: { message: 'no' } }, [{ failed: 'no' }]],
    ['chat', { choices: null, usage: {} }, []],
    ['messages', { type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } }, [{ text: 'a' }]],
    ['messages', { type: 'content_block_delta', delta: { thinking: 'b' } }, [{ thought: 'b' }]],
    ['messages', { type: 'error', error: { message: 'no' } }, [{ failed: 'no' }]],
    ['messages', { type: 'message_start', message: {} }, []],
    ['responses', { type: 'response.output_text.delta', delta: 'a' }, [{ text: 'a' }]],
    ['responses', { type: 'response.failed', response: { error: { message: 'no' } } }, [{ failed: 'no' }]],
    ['responses', { type: 'error', message: 'no' }, [{ failed: 'no' }]],
    [
      'responses',
      { type: 'response.output_item.done', item: { type: 'image_generation_call', result: 'AA' } },
      [{ picture: 'data:image/png;base64,AA' }],
    ],
    [
      'generate',
      { candidates: [{ content: { parts: [{ text: 'a' }, { text: 'b', thought: true }] } }] },
      [{ text: 'a' }, { thought: 'b' }],
    ],
    [
      'generate',
      { candidates: [{ content: { parts: [{ inlineData: { mimeType: 'image/jpeg', data: 'AA' } }] } }] },
      [{ picture: 'data:image/jpeg;base64,AA' }],
    ],
    [
      'images',
      { data: [{ url: 'https://x' }, { b64_json: 'AA' }] },
      [{ picture: 'https://x' }, { picture: 'data:image/png;base64,AA' }],
    ],
    ['images', { data: 'x' }, []],
  ]
  for (const [protocol, event, pieces] of rows) t.same(SPOKEN[protocol]?.read(event), pieces, JSON.stringify(event))
})
