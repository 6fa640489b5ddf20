import t from 'tap'
import { CLI } from '../../support/people.ts'
import { newKey } from '../../support/store.ts'
import { browserTest } from '../support/browser.ts'
import { giveSession, newPerson, openConsole, PASSWORD } from '../support/pages.ts'

const SETTINGS = 'registration: { mode: invite }'

browserTest(t, 'an owner invites somebody, who joins with a new user and is in the account', async (t, newcomer) => {
  const house = await openConsole(t, SETTINGS)
  const account = await house.account('Acme')
  const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
  const owner = await newcomer({ language: 'en-US' })
  await giveSession(owner, house, ada)
  await owner.visit(`${house.url}/console/team`)
  // the tab keeps to this account
  await owner.page.waitForURL(url => url.searchParams.get('account') === account.publicId)
  await owner.page.getByRole('button', { name: 'Invite somebody' }).click()
  const dialog = owner.page.getByRole('dialog', { name: 'Invite somebody' })
  t.same(await owner.axe(), [], 'the dialog')
  await dialog.locator('#email').fill('no address')
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
  await dialog.locator('#email-error').waitFor()
  await dialog.locator('#email').fill('bob@example.org')
  await dialog.getByText('Viewer').click()
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
  const shown = await dialog.locator('.copyable code').innerText()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await owner.page.getByRole('heading', { name: 'Open invitations' }).waitFor()

  const link = new URL(shown)
  const guest = await newcomer({ language: 'en-US' })
  await guest.visit(`${house.url}${link.pathname}${link.hash}`)
  // the secret leaves the address
  await guest.page.waitForURL(url => url.hash === '')
  await guest.page.getByText('Acme').waitFor()
  t.equal(await house.store.people.users.byEmail('bob@example.org'), null, 'and looking uses nothing up')
  await guest.page.locator('#name:focus').waitFor()
  await guest.page.fill('#name', 'Bob')
  await guest.page.fill('#password', PASSWORD)
  await guest.page.getByRole('button', { name: 'Accept' }).click()
  await guest.page.waitForURL(/\/console\/overview\?account=/)
  await guest.visit(`${house.url}/console/profile`)
  await guest.page.getByText('Viewer').waitFor()
  await guest.visit(`${house.url}/console/team`)
  await guest.page.getByRole('rowheader', { name: 'bob@example.org' }).waitFor()
  t.equal(await guest.page.getByRole('button', { name: 'Invite somebody' }).count(), 0, 'viewers change nothing')
  t.same([...owner.complaints, ...guest.complaints], [])
})

browserTest(t, 'roles are changed and members removed, but not the last owner', async (t, newcomer) => {
  const house = await openConsole(t, SETTINGS)
  const account = await house.account('Acme')
  const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
  const bob = await house.person('bob@example.org', { in: { account, role: 'member' } })
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit, complaints } = visitor
  await giveSession(visitor, house, ada)
  await visit(`${house.url}/console/team`)
  const change = async (who: string) => {
    await page.getByRole('button', { name: `Change ${who}` }).click()
    return page.getByRole('dialog', { name: who })
  }
  const self = await change('ada@example.org')
  await self.getByText('Viewer').click()
  await self.getByRole('button', { name: 'Save' }).click()
  t.match(await self.getByRole('alert').innerText(), /make somebody else an owner first/)
  await page.keyboard.press('Escape')

  const other = await change('bob@example.org')
  await other.getByText('Billing').click()
  await other.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row', { name: /bob@example\.org.*Billing/ }).waitFor()
  t.equal(await house.store.people.members.role(bob.person.id, account.id), 'billing')

  await (await change('bob@example.org')).getByRole('button', { name: 'Remove from the account' }).click()
  const sure = page.getByRole('dialog', { name: 'Remove bob@example.org from the account?' })
  await sure.getByRole('button', { name: 'Remove from the account' }).click()
  await page.getByRole('row', { name: /bob@example\.org/ }).waitFor({ state: 'detached' })
  t.equal(await house.store.people.members.role(bob.person.id, account.id), null)
  t.same(complaints, [])
})

browserTest(
  t,
  'the keys of somebody who is removed: shown first, then disabled or handed over',
  async (t, newcomer) => {
    const house = await openConsole(t)
    const account = await house.account('Acme')
    const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
    const makeKeys = async (email: string, count: number) => {
      const maker = await house.person(email, { in: { account, role: 'member' } })
      const make = (_: unknown, i: number) => {
        const own = { name: `${email} ${i}`, hash: `${email} ${i}`, createdBy: maker.person.id }
        return house.store.keys.create(newKey(account.id, own), CLI)
      }
      return Promise.all(Array.from({ length: count }, make))
    }
    const [few, many] = [await makeKeys('bob@example.org', 1), await makeKeys('eve@example.org', 12)]
    for (const [language, width] of [
      ['en-US', 1440],
      ['zh-CN', 360],
    ] as const) {
      const english = language === 'en-US'
      const visitor = await newcomer({ language, width })
      const { page, visit, axe, complaints } = visitor
      await giveSession(visitor, house, ada)
      await visit(`${house.url}/console/team`)
      const who = english ? 'bob@example.org' : 'eve@example.org'
      await page.getByRole('button', { name: english ? `Change ${who}` : `更改 ${who}` }).click()
      const remove = page.getByRole('button', { name: english ? 'Remove from the account' : '移出账户' })
      await remove.click()
      const sure = page.getByRole('dialog', {
        name: english ? `Remove ${who} from the account?` : `将 ${who} 移出账户？`,
      })
      await sure.getByText(english ? 'The member made one key:' : '该成员创建了 12 个密钥：').waitFor()
      t.equal(await sure.getByRole('listitem').count(), english ? 1 : 11)
      t.match(await sure.getByRole('listitem').last().innerText(), english ? 'bob@example.org 0' : '另有 2 个')
      t.ok(await sure.locator('input[value=disable]').isChecked(), 'nothing goes on by itself')
      if (english) await sure.getByText('Hand them to me').click()
      t.same(await axe(), [], language)
      await remove.click()
      await page.getByRole('row', { name: who }).waitFor({ state: 'detached' })
      t.same(complaints, [])
    }
    const now = await Promise.all([...few, ...many].map(({ id }) => house.store.keys.byId(id)))
    t.match(now[0], { status: 'enabled', createdBy: ada.person.id }, 'handed over')
    t.same([...new Set(now.slice(1).map(key => key?.status))], ['disabled'])
  },
)

browserTest(t, 'with a role that has no keys, those of the member are disabled or handed over', async (t, newcomer) => {
  const house = await openConsole(t)
  const account = await house.account('Acme')
  const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
  for (const [language, who, save, role, handOver] of [
    ['en-US', 'bob@example.org', 'Save', 'Viewer', 'Hand them to me'],
    ['zh-CN', 'eve@example.org', '保存', '财务', null],
  ] as const) {
    const maker = await house.person(who, { in: { account, role: 'member' } })
    const own = { name: who, hash: who, createdBy: maker.person.id }
    const key = await house.store.keys.create(newKey(account.id, own), CLI)
    const visitor = await newcomer({ language })
    const { page, visit, axe, complaints } = visitor
    await giveSession(visitor, house, ada)
    await visit(`${house.url}/console/team`)
    await page.getByRole('button', { name: language === 'en-US' ? `Change ${who}` : `更改 ${who}` }).click()
    const dialog = page.getByRole('dialog', { name: who })
    t.equal(await dialog.locator('input[name=keys]').count(), 0, 'a member has keys')
    await dialog.getByText(role).click()
    t.ok(await dialog.locator('input[value=disable]').isChecked(), 'nothing goes on by itself')
    if (handOver !== null) await dialog.getByText(handOver).click()
    t.same(await axe(), [], language)
    await dialog.getByRole('button', { name: save }).click()
    await dialog.waitFor({ state: 'detached' })
    const handed = handOver !== null
    t.match(await house.store.keys.byId(key.id), {
      status: handed ? 'enabled' : 'disabled',
      createdBy: handed ? ada.person.id : maker.person.id,
    })
    t.same(complaints, [])
  }
})

browserTest(t, 'a list turns by its last row, and its filter stands in the address', async (t, newcomer) => {
  const house = await openConsole(t)
  const account = await house.account('Acme')
  const ada = await house.person('ada@example.org', { in: { account, role: 'owner' } })
  for (let at = 10; at < 70; at++) {
    const person = await newPerson(house.deps, `p${at}@example.org`, { name: `Person ${at}`, password: null })
    await house.store.people.members.add({ userId: person.id, accountId: account.id, role: 'member' }, 1, CLI)
  }
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit } = visitor
  await giveSession(visitor, house, ada)
  await visit(`${house.url}/console/team`)
  await page.locator('tbody tr').first().waitFor()
  t.equal(await page.locator('tbody tr').count(), 50)
  await page.getByRole('button', { name: 'Older' }).click()
  await page.getByRole('button', { name: 'Newer' }).waitFor()
  await page.getByText('Person 69').waitFor()
  t.equal(await page.locator('tbody tr').count(), 11)
  await page.getByRole('button', { name: 'Newer' }).click()
  await page.getByText('Person 10').waitFor()
  await page.getByRole('searchbox').fill('person 42')
  await page.getByText('Person 10').waitFor({ state: 'detached' })
  t.equal(new URL(page.url()).searchParams.get('q'), 'person 42')
  t.equal(await page.locator('tbody tr').count(), 1)
  await page.getByRole('searchbox').fill('nobody like this')
  await page.getByText('No member matches.').waitFor()
  await page.getByRole('button', { name: 'Clear the filter' }).click()
  await page.getByText('Person 10').waitFor()
})

browserTest(t, 'two tabs of two accounts do not mix', async (t, newcomer) => {
  const house = await openConsole(t)
  const [one, two] = [await house.account('One'), await house.account('Two')]
  const ada = await house.person('ada@example.org', { in: { account: one, role: 'owner' } })
  await house.store.people.members.add({ userId: ada.person.id, accountId: two.id, role: 'viewer' }, 1, CLI)
  const visitor = await newcomer({ language: 'en-US' })
  const { page, visit } = visitor
  await giveSession(visitor, house, ada)
  await visit(`${house.url}/console/team?account=${one.publicId}`)
  const invite = page.getByRole('button', { name: 'Invite somebody' })
  await invite.waitFor()
  await page.getByText('Switch account').locator('..').click()
  await page.getByRole('link', { name: 'Two' }).click()
  await page.waitForURL(url => url.searchParams.get('account') === two.publicId)
  await page.getByRole('rowheader', { name: 'ada@example.org' }).waitFor()
  t.equal(await invite.count(), 0, 'a viewer there')
  await page.getByRole('link', { name: 'Team' }).first().click()
  await page.waitForURL(url => url.searchParams.get('account') === two.publicId)
})
