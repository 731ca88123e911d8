// The parts of Next.js that the kit uses. Next.js itself is too large to be installed to build it.

declare module "next/headers.js" {
  export function headers(): Promise<Headers>;
}

declare module "next/server.js" {
  export function connection(): Promise<void>;
  export class NextResponse extends Response {
    static next(): NextResponse;
  }
}
