/**
 * What the console hands out runs as it is pasted: a real browser takes every snippet off the page, for every model of the demo's
 * catalogue, with key and address filled in. Programs and commands are run against a gateway with that catalogue, and files of tools are
 * read by their languages.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { liveIn } from '../support/live.ts'
import { browserTest } from '../support/browser.ts'
import { PYTHON_MISSING, type ProgramLanguage, runPrograms } from '../support/programs.ts'
import { openGateway } from '../../support/open-gateway.ts'

const DEMO = path.resolve(import.meta.dirname, '../../../config/catalog.yaml')
interface DemoCatalog {
  models: { name: string }[]
  channels: { models: string[]; protocols: string[] }[]
}

/** Two models beside it that cannot be asked: one is offline, the other has no price. */
const OFF = 'gamma-off'
const UNPRICED = 'unpriced-model'

function demoCatalog(upstream: string): Record<string, unknown> & DemoCatalog {
  const text = readFileSync(DEMO, 'utf8').replaceAll(/\$\{UPSTREAM_URL:-[^}]+\}/g, upstream)
  const catalog = parse(text.replaceAll(/\$\{\w+:-(\w+)\}/g, '$1'))
  catalog.models.push({ name: OFF, price: { input: 1, output: 1 }, offline: true }, { name: UNPRICED })
  catalog.channels[0].models.push(OFF, UNPRICED)
  return catalog
}

interface Taken {
  client: string
  model: string
  title: string
  text: string
}

const LANGUAGES: readonly (readonly [ProgramLanguage, (taken: Taken) => boolean])[] = [
  ['js', ({ text }) => text.startsWith('// npm install')],
  ['python', ({ text }) => text.startsWith('# pip install')],
  ['sh', ({ client }) => client === 'curl'],
]

browserTest(
  t,
  'every snippet of every model of the demo runs as it is pasted, and no other is offered',
  async (t, newcomer) => {
    const gateway = await openGateway({ catalog: demoCatalog })
    t.teardown(() => gateway.stop())
    const { cookie, account } = await liveIn(t, gateway, 'demo', 'owner')
    const { page, context, visit, complaints } = await newcomer({ language: 'en-US' })
    const [name = '', value = ''] = cookie.split('=')
    await context.addCookies([{ name, value, url: gateway.main }])
    await visit(`${gateway.main}/console/keys?account=${account}`)
    await page.getByRole('button', { name: 'New key' }).first().click()
    await page.fill('#name', 'pasted')
    await page.getByRole('button', { name: 'Make the key', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'pasted' })
    const secret = await dialog.locator('.copyable code').first().innerText()
    t.match(secret, /^sk-\w+$/)

    const taken: Taken[] = []
    const options = (field: string) =>
      dialog.locator(`#${field} option`).evaluateAll(all => all.map(one => (one as HTMLOptionElement).value))
    const offered = new Set<string>()
    await dialog.locator('#client').selectOption('claude-code')
    await dialog.locator('#model option').first().waitFor({ state: 'attached' })
    for (const client of (await options('client')).filter(id => id !== '.env')) {
      await dialog.locator('#client').selectOption(client)
      for (const model of await options('model')) {
        offered.add(model)
        await dialog.locator('#model').selectOption(model)
        const snippets = await dialog.locator('figure.snippet').evaluateAll(all =>
          all.map(one => ({
            title: one.querySelector('figcaption span')?.textContent ?? '',
            text: one.querySelector('code')?.textContent ?? '',
          })),
        )
        taken.push(...snippets.map(one => ({ client, model, ...one })))
      }
    }
    const { models } = demoCatalog('')
    t.same(
      [...offered].sort(),
      models
        .map(({ name }) => name)
        .filter(name => name !== OFF && name !== UNPRICED)
        .sort(),
    )
    t.ok(
      taken.every(({ text }) => !/MODEL\b(?!=)|sk-…/.test(text.replaceAll(/\w*_MODELS?\b/g, ''))),
      'nothing is left to fill in',
    )

    const ran = new Set<Taken>()
    for (const [language, isOfIt] of LANGUAGES) {
      if (language === 'python' && PYTHON_MISSING !== null) {
        if (process.env['CI']) t.fail(PYTHON_MISSING)
        else t.pass(PYTHON_MISSING)
      }
      const programs = taken.filter(isOfIt)
      t.ok(programs.length > models.length, `${programs.length} in ${language}`)
      for (const one of programs) ran.add(one)
      if (language === 'python' && PYTHON_MISSING !== null) continue
      const texts = programs.map(({ text }) =>
        language === 'sh' ? text.replace('curl ', 'curl -sS --fail-with-body ') : text,
      )
      for (const [i, { said, failed }] of (await runPrograms(language, texts)).entries()) {
        const { client, title, model } = programs[i] as Taken
        if (failed !== null || said.trim() === '')
          t.fail(`${client} ${title} ${model}: ${failed ?? 'it printed nothing'} ${said}`)
      }
    }
    // each has asked the model that it names
    const asked = new Set((await gateway.usage('demo', offered.size)).map(row => row['model']))
    t.same([...asked].sort(), [...offered].sort())
    const others = taken.filter(one => !ran.has(one))
    const tools = new Set(others.map(({ client }) => client))
    for (const { title, text, model } of others)
      if (/\.json( |$)/.test(title)) t.ok(JSON.stringify(JSON.parse(text)).includes(model), `${title} ${model}`)
    t.same([...tools].sort(), ['cherry-studio', 'claude-code', 'codex', 'cursor', 'gemini-cli', 'nextchat', 'opencode'])

    const connect = await newcomer({ language: 'en-US' })
    await connect.visit(`${gateway.main}/console/connect`)
    const shown = connect.page.locator('[role=tabpanel]:not([hidden]) figure.snippet code')
    for (const client of new Set(taken.map(one => one.client))) {
      await connect.page.click(`#client-${client}`)
      const field = connect.page.locator(`#model-${client}`)
      for (const model of await field.locator('option').allInnerTexts()) {
        await field.selectOption(model)
        const wanted = taken.filter(one => one.client === client && one.model === model).map(({ text }) => text)
        const got = (await shown.allTextContents()).map(text => text.replaceAll('sk-…', secret))
        t.strictSame(sameName(got), sameName(wanted), `Connect: ${client} ${model}`)
      }
    }
    t.same([...complaints, ...connect.complaints], [])
  },
)

/** Pages call the gateway by different names; what else they say must be the same. */
const sameName = (texts: readonly string[]): string[] =>
  texts.map(text => text.replaceAll(/^\s*"?name"?\s*[:=].*$/gm, ''))
