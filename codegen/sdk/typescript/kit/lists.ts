// Lists of Gatewright as async iterators.

import { unwrap, type Result } from "./errors.js";

/** Where a page begins, as the query of the list says it; empty for the first page. */
export interface Position {
  cursor?: string;
  after?: string;
  offset?: number;
}

type ItemOf<Page> = Extract<Page[keyof Page], readonly unknown[]>[number];

/**
 * Yield the items of a list, page after page: `list` requests the page at a position, as in
 * `iterate((position) => gatewright.admin.searchUsers({ query: { ...position, role: "admin" } }))`.
 *
 * It works for every list whose pages have `nextCursor`, `next` or `total`. Throws an ApiError.
 */
export async function* iterate<Page extends object>(
  list: (position: Position) => Promise<Result<Page>>,
): AsyncGenerator<ItemOf<Page>, void, undefined> {
  let position: Position | undefined = {};
  for (let count = 0; position !== undefined; ) {
    const page: Page = await unwrap(list(position));
    const items = Object.values(page).find((value): value is ItemOf<Page>[] => Array.isArray(value)) ?? [];
    yield* items;
    count += items.length;
    position = items.length === 0 ? undefined : positionAfter(page, count);
  }
}

function positionAfter(page: { nextCursor?: unknown; next?: unknown; total?: unknown }, count: number): Position | undefined {
  if (typeof page.nextCursor === "string") return { cursor: page.nextCursor };
  if (typeof page.next === "string") return { after: page.next };
  // A list with positions of its own also has a total.
  const byOffset = !("nextCursor" in page) && !("next" in page);
  return byOffset && typeof page.total === "number" && count < page.total ? { offset: count } : undefined;
}
