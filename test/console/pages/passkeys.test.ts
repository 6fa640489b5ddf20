import type { CDPSession } from 'playwright-core'
import t, { type Test } from 'tap'
import { freePort } from '../../support/ports.ts'
import { browserTest, type Visitor } from '../support/browser.ts'
import { newPerson, openConsole, PASSWORD, signInBrowser } from '../support/pages.ts'

/** A console at the address that its config names, as browsers want it for passkeys. */
async function openAtLocalhost(t: Test) {
  const port = await freePort()
  const at = `http://localhost:${port}`
  const house = await openConsole(t, `public: { main: "${at}" }`, undefined, port)
  return { ...house, at }
}

/**
 * Gives the browser an authenticator of its own, whose person always agrees: also to what is only offered beside the e-mails, which
 * therefore happens where the address says `offered`.
 */
async function withAuthenticator({ context, page }: Visitor): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  await context.addInitScript(
    "PublicKeyCredential.isConditionalMediationAvailable = async () => location.search.includes('offered')",
  )
  const cdp = await context.newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, authenticatorId }
}

browserTest(
  t,
  'a passkey: added, signs in by itself, as the second step, is a proof, and is deleted',
  async (t, newcomer) => {
    const { at, deps } = await openAtLocalhost(t)
    const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
    const visitor = await newcomer({ language: 'en-US' })
    const { page, complaints } = visitor
    const { cdp, authenticatorId } = await withAuthenticator(visitor)
    await signInBrowser(visitor, at, ada, '/console/security')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    t.match(await page.locator('dialog #name').inputValue(), /^Chrome · /, 'a name is suggested')
    t.strictSame(await visitor.axe(), [])
    await page.getByText('Recovery codes are shown afterwards').waitFor()
    await page.locator('dialog #name').fill('laptop')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.locator('.codes li').first().waitFor()
    t.equal(await page.locator('.codes li').count(), 10)
    await page.getByRole('button', { name: 'I have kept them' }).click()
    await page.getByRole('button', { name: 'Rename laptop' }).waitFor()
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.locator('dialog #name').waitFor()
    t.equal(await page.getByText('Recovery codes are shown afterwards').count(), 0, 'a second one brings none')
    await page.keyboard.press('Escape')
    t.strictSame(await visitor.axe(), [])
    t.equal((await deps.store.people.passkeys.list(ada.id)).length, 1)

    await page.getByText('Your menu').locator('..').click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(`${at}/console`)
    await visitor.visit(`${at}/console/sign-in?next=%2Fconsole%2Fsecurity`)
    t.strictSame(await visitor.axe(), [])
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.waitForURL(`${at}/console/security`)
    await page.getByRole('button', { name: 'Rename laptop' }).waitFor()

    // the page leads on by itself, perhaps before it is loaded
    await page.goto(`${at}/console/sign-in?next=%2Fconsole%2Fsecurity&offered`, { waitUntil: 'commit' })
    await page.waitForURL(`${at}/console/security`)
    await visitor.drawn()
    t.equal(
      (await deps.store.actions.page({ operation: 'sign_in.passkey', limit: 9 })).length,
      2,
      'offered, and chosen',
    )

    await visitor.visit(`${at}/console/sign-in?next=%2Fconsole%2Fsecurity`)
    await page.fill('#email', ada.email)
    await page.fill('#password', PASSWORD)
    await page.keyboard.press('Enter')
    await page.locator('#code').waitFor()
    t.strictSame(await visitor.axe(), [])
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${at}/console/security`)
    await page.getByRole('button', { name: 'Rename laptop' }).click()
    await page.locator('dialog #name').fill('old laptop')
    await page.getByRole('button', { name: 'Save' }).click()
    await visitor.told('Renamed')

    deps.clock.advance(3_600_000)
    await page.getByRole('button', { name: 'Delete old laptop' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.waitFor()
    t.equal(await dialog.locator('#proof').getAttribute('type'), 'password')
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await dialog.getByRole('button', { name: 'Use a passkey' }).click()
    await dialog.getByText('No passkey was used: it was cancelled, or took too long').waitFor()
    t.strictSame(await visitor.axe(), [])
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    await dialog.getByRole('button', { name: 'Use a passkey' }).click()
    await visitor.told('The passkey is deleted')
    await page.getByText('There is no passkey yet.').waitFor()
    t.match(await deps.store.people.users.byId(ada.id), { passkeys: 0, secondFactor: false })
    t.same(complaints, [])
  },
)

browserTest(t, 'where a browser or an address has no passkeys, none are offered', async (t, newcomer) => {
  const { url, deps } = await openConsole(t)
  const ada = await newPerson(deps, 'ada@example.org', { name: 'Ada' })
  const visitor = await newcomer({ language: 'en-US' })
  const { page } = visitor
  await visitor.visit(`${url}/console/sign-in`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  t.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).count(), 0, 'an address of numbers')
  await signInBrowser(visitor, url, ada, '/console/security')
  await page.getByText('on this machine, http://localhost').waitFor()
  const there = `${url.replace('127.0.0.1', 'localhost')}/console/security`
  t.equal(await page.getByRole('link', { name: `Open ${new URL(there).host}` }).getAttribute('href'), there)
  t.equal(await page.getByRole('button', { name: 'Add a passkey' }).count(), 0)
  t.strictSame(await visitor.axe(), [])

  const local = await openAtLocalhost(t)
  const old = await newcomer({ language: 'zh-CN' })
  await old.context.addInitScript('delete PublicKeyCredential.parseRequestOptionsFromJSON')
  await old.visit(`${local.at}/console/sign-in`)
  await old.page.getByRole('button', { name: '登录', exact: true }).waitFor()
  t.equal(await old.page.getByRole('button', { name: '通行密钥' }).count(), 0, 'a browser of before')
  const recent = await newcomer({ language: 'zh-CN' })
  await recent.visit(`${local.at}/console/sign-in`)
  await recent.page.getByRole('button', { name: '使用通行密钥登录' }).waitFor()
})
