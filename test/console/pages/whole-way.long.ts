/**
 * The whole way, as people go it, through a gateway as users start it: the first operator comes in by a link of the command
 * line and switches a second factor on, invites the owner of an account, who joins, signs in, and makes a key in the page.
 * A client's own SDK pays for a request with it, which then stands in the account's pages with a receipt that adds up.
 */
import { spawnSync } from 'node:child_process'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { BIN, startGateway, type TestGateway } from '../../support/gateway.ts'
import { browserTest, type Visitor } from '../support/browser.ts'
import { PASSWORD, signInBrowser } from '../support/pages.ts'
import { codeOf } from '../support/totp.ts'

const PROMPT = 'Hello!'

interface Way {
  locale: 'zh-CN' | 'en-US'
  says: Record<
    | 'accept'
    | 'switchOn'
    | 'confirm'
    | 'kept'
    | 'newKey'
    | 'make'
    | 'keptKey'
    | 'oneToken'
    | 'send'
    | 'works'
    | 'again'
    | 'equal',
    string
  >
  model: string
  /** Asks a model as the client's SDK does, and returns what it read. */
  ask(at: string, apiKey: string): Promise<string | undefined>
}

const WAYS: Way[] = [
  {
    locale: 'zh-CN',
    says: {
      accept: '接受邀请',
      switchOn: '启用',
      confirm: '确认',
      kept: '我已保存',
      newKey: '新建密钥',
      make: '创建密钥',
      keptKey: '我已保存',
      oneToken: '用一个 token 试用',
      send: '发送',
      works: '模型已回答',
      again: '重新计算',
      equal: '一致',
    },
    model: 'alpha-sonnet-5-5',
    async ask(at, apiKey) {
      const client = new Anthropic({ baseURL: at, apiKey, maxRetries: 0 })
      const messages = [{ role: 'user' as const, content: PROMPT }]
      const { content } = await client.messages.create({ model: this.model, max_tokens: 100, messages })
      return content[0]?.type === 'text' ? content[0].text : undefined
    },
  },
  {
    locale: 'en-US',
    says: {
      accept: 'Accept',
      switchOn: 'Switch on',
      confirm: 'Confirm',
      kept: 'I have kept them',
      newKey: 'New key',
      make: 'Make the key',
      keptKey: 'I have kept it',
      oneToken: 'Try it with one token',
      send: 'Send it',
      works: 'the model has answered',
      again: 'Recompute',
      equal: 'which is equal',
    },
    model: 'beta-4.7',
    async ask(at, apiKey) {
      const client = new OpenAI({ baseURL: `${at}/v1`, apiKey, maxRetries: 0 })
      const messages = [{ role: 'user' as const, content: PROMPT }]
      const { choices } = await client.chat.completions.create({ model: this.model, messages })
      return choices[0]?.message.content ?? undefined
    },
  },
]

/** The link at the address of the test, whatever the config says it is. */
const here = (gateway: TestGateway, link: string): string => gateway.main + link.slice(new URL(link).origin.length)

function inviteOperator({ folder }: TestGateway, email: string): string {
  const words = [
    'users',
    'invite',
    '--role',
    'operator',
    '--email',
    email,
    '--config',
    `${folder}/gateway.yaml`,
    '--json',
  ]
  const { status, stdout, stderr } = spawnSync(BIN, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return (JSON.parse(stdout) as { url: string }).url
}

/** Takes an invitation with a new user, who is signed in then. */
async function join({ page, visit }: Visitor, link: string, name: string, says: Way['says']): Promise<void> {
  await visit(link)
  await page.fill('#name', name)
  await page.fill('#password', PASSWORD)
  await page.getByRole('button', { name: says.accept, exact: true }).click()
  await page.waitForURL(url => !url.pathname.endsWith('/invitation'))
  await page.waitForSelector('html[data-ready]', { state: 'attached' })
}

async function switchFactorOn({ page, visit }: Visitor, gateway: TestGateway, says: Way['says']): Promise<void> {
  await visit(`${gateway.main}/console/security`)
  await page.getByRole('button', { name: says.switchOn, exact: true }).click()
  const secret = await page.locator('dialog .copyable code').innerText()
  await page.fill('#code', codeOf(secret, Date.now()))
  await page.getByRole('button', { name: says.confirm, exact: true }).click()
  await page.getByRole('button', { name: says.kept, exact: true }).click()
}

/** In the session of the operator. */
const inviteOwner = ({ page }: Visitor, email: string): Promise<string> =>
  page.evaluate(
    async body => {
      const answer = await fetch('/console/api/users/invitations', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const said = (await answer.json()) as { url: string }
      if (!answer.ok) throw new Error(JSON.stringify(said))
      return said.url
    },
    { email, role: 'owner', account: 'rich' },
  )

/** Makes a key, and tries it with a request of one token, before its secret is gone. */
async function makeKey({ page }: Visitor, says: Way['says'], model: string): Promise<string> {
  await page.getByRole('button', { name: says.newKey, exact: true }).first().click()
  await page.fill('#name', 'made by hand')
  await page.getByRole('button', { name: says.make, exact: true }).click()
  const secret = await page.locator('dialog .copyable code').first().innerText()
  await page.getByText(says.oneToken).click()
  await page.locator('#trial-model').selectOption(model)
  await page.getByRole('button', { name: says.send, exact: true }).click()
  await page.getByText(says.works).waitFor()
  await page.getByRole('button', { name: says.keptKey, exact: true }).click()
  await page.getByRole('rowheader', { name: 'made by hand' }).waitFor()
  return secret
}

for (const { locale, says, model, ...way } of WAYS)
  browserTest(t, `from the first visit to a receipt, ${locale}`, async (t, newcomer) => {
    const gateway = await startGateway({ config: { secret: 'a-secret-for-tests-of-the-console' } })
    t.teardown(() => gateway.stop())
    const operator = await newcomer({ language: locale })
    await join(operator, here(gateway, inviteOperator(gateway, 'op@example.org')), 'Olga', says)
    await switchFactorOn(operator, gateway, says)
    const link = here(gateway, await inviteOwner(operator, 'ada@example.org'))

    const guest = await newcomer({ language: locale })
    await join(guest, link, 'Ada', says)
    const owner = await newcomer({ language: locale })
    const { page } = owner
    await signInBrowser(owner, gateway.main, { email: 'ada@example.org' }, '/console/keys')
    const secret = await makeKey(owner, says, model)
    const trial = await gateway.usageRow({ model, status: 200 })
    t.ok(Number(trial['charge']) > 0, 'the trial was charged')
    t.match(await way.ask.call({ model } as Way, gateway.main, secret), /quick brown fox/)

    const row = (await gateway.usage('rich', 2)).find(one => one['request_id'] !== trial['request_id']) as typeof trial
    await owner.visit(`${gateway.main}/console/requests`)
    await page.locator(`a[href*="${row['request_id']}"]`).first().click()
    await page.waitForURL(url => url.pathname.endsWith(`/requests/${row['request_id']}`))
    await page.getByRole('button', { name: says.again, exact: true }).click()
    const verdict = await page.locator('.told.good').innerText()
    t.ok(verdict.includes(says.equal), verdict)
    t.ok(verdict.includes(String(row['charge'])), `${verdict} is the charge ${row['charge']}`)
    t.match(await page.locator('main').innerText(), /made by hand/, 'by the key that was made')
    for (const path of ['overview', 'usage']) {
      await owner.visit(`${gateway.main}/console/${path}`)
      await owner.drawn()
      t.ok((await page.locator('main').innerText()).includes(model), `${path} has the model`)
    }
    const everybody = [operator, guest, owner]
    t.same(
      everybody.flatMap(({ complaints }) => complaints),
      [],
    )
    t.ok(everybody.every(({ requested }) => requested.every(url => url.startsWith(gateway.main))))
    t.notOk(
      everybody.some(({ requested }) => requested.some(url => url.includes(secret) || url.includes(PASSWORD))),
      'no secret is in an address',
    )
  })
