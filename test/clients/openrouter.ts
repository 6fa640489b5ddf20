/**
 * OpenRouter's SDK, as it is published, reads what a key has, what it may spend and what an answer cost. It checks every member of
 * every answer against its schemas, and throws where one is missing.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { KEY } from '../support/gateway.ts'
import { installPackage } from './install.ts'

const PACKAGE = '@openrouter/sdk'
const VERSION = '1.3.19'

interface Sdk {
  credits: { getCredits(): Promise<{ data: { totalCredits: number; totalUsage: number } }> }
  apiKeys: { getCurrentKeyMetadata(): Promise<{ data: { usage: number; limitRemaining: number | null } }> }
  generations: { getGeneration(ask: { id: string }): Promise<{ data: { id: string; totalCost: number } }> }
}

export const OPENROUTER = `${PACKAGE} ${VERSION}`

/** What is wrong; empty = nothing. */
export async function problemsOfOpenRouter(gateway: string, model: string): Promise<string[]> {
  const installed = await installPackage(PACKAGE, VERSION, 'openrouter')
  if ('missing' in installed) return [installed.missing]
  const main = path.join(installed.folder, 'node_modules', PACKAGE, 'esm/index.js')
  const { OpenRouter } = (await import(pathToFileURL(main).href)) as {
    OpenRouter: new (options: { apiKey: string; serverURL: string }) => Sdk
  }
  const sdk = new OpenRouter({ apiKey: KEY, serverURL: `${gateway}/v1` })
  const asked = await fetch(`${gateway}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  })
  await asked.text()
  const id = asked.headers.get('x-request-id') ?? ''
  const charge = Number(asked.headers.get('x-gateway-charge'))
  const generation = await settled(() => sdk.generations.getGeneration({ id }))
  const credits = await sdk.credits.getCredits()
  const key = await sdk.apiKeys.getCurrentKeyMetadata()
  return [
    ...(generation.data.id === id ? [] : [`the generation is ${generation.data.id}, not ${id}`]),
    ...(charge > 0 && generation.data.totalCost === charge
      ? []
      : [`it cost ${generation.data.totalCost}, not ${charge}`]),
    ...(credits.data.totalUsage >= charge ? [] : [`the credits say ${JSON.stringify(credits.data)}`]),
    ...(key.data.usage >= charge ? [] : [`the key says ${JSON.stringify(key.data)}`]),
  ]
}

/** What is not settled yet is 404 for a moment. */
async function settled<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 5; ; tries--) {
    try {
      return await ask()
    } catch (error) {
      if (tries === 0) throw error
      await new Promise(resolve => setTimeout(resolve, 1000))
    }
  }
}
